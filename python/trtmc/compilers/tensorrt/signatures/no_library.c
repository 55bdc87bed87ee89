// Stands for a TensorRT library while its Python bindings are imported: the bindings only need these names to be there,
// and a test that reads signatures calls none of them. One file gives all three libraries that the bindings link.
#define NOTHING(name) \
  void* name(void) { return 0; }

NOTHING(createInferBuilder_INTERNAL)
NOTHING(createInferRefitter_INTERNAL)
NOTHING(createInferRuntime_INTERNAL)
NOTHING(createNvOnnxParserRefitter_INTERNAL)
NOTHING(createNvOnnxParser_INTERNAL)
NOTHING(getBuilderPluginRegistry)
NOTHING(getNvOnnxParserVersion)
NOTHING(getPluginRegistry)
NOTHING(initLibNvInferPlugins)
