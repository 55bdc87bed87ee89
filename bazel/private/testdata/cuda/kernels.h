// What the test of cuda_library links.
#pragma once

// Adds 1 to each of `count` floats on the device; gives the CUDA error, 0 if none.
int add_one(float* data, int count);
