// Fills a table with the functions of the bodies. A body, see body_math.h.
t.gemv = gemv;
t.exact = gemm_kernel();
t.fast = gemm_kernel();
t.decode = decode;
t.rms_norm = rms_norm;
t.gated = gated;
t.add = add_arrays;
t.rotate = rotate;
t.attend = attend;
t.exp = exp_array;
