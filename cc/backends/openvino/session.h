// Sessions of the CPU backend: the one that runs a Program, and the one that asks OpenVINO.
#pragma once

#include <memory>
#include <openvino/runtime/compiled_model.hpp>

#include "cc/backends/openvino/program.h"
#include "trtmc/backend.h"

namespace trtmc::openvino {

// All arguments outlive the session (the engine owns them).
std::unique_ptr<Session> make_program_session(const Program& program, cpu::Pool& pool,
                                              const Contract& contract);

// May throw what OpenVINO throws.
std::unique_ptr<Session> make_plugin_session(ov::CompiledModel& model, const Contract& contract);

}  // namespace trtmc::openvino
