// test: run
func.func @main() -> (tensor<5xf32>, tensor<2x2xf32>, tensor<5xf32>, tensor<2xf32>) {
  %x = stablehlo.constant dense<[-1.0, 0.26, 0.25, 0.75, 100.0]> : tensor<5xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<5xf32>) -> tensor<5x!quant.uniform<i8:f32, 0.5:3>>
  %d = stablehlo.uniform_dequantize %q : (tensor<5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<5xf32>
  %y = stablehlo.constant dense<[[1.0, 1.0], [-3.2, 900.0]]> : tensor<2x2xf32>
  %p = stablehlo.uniform_quantize %y : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.25:0, 2.0:-1}>>
  %e = stablehlo.uniform_dequantize %p : (tensor<2x2x!quant.uniform<i8:f32:1, {0.25:0, 2.0:-1}>>) -> tensor<2x2xf32>
  %s = stablehlo.add %q, %q : tensor<5x!quant.uniform<i8:f32, 0.5:3>>
  %f = stablehlo.uniform_dequantize %s : (tensor<5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<5xf32>
  %u = stablehlo.constant dense<[1.5, -4.0]> : tensor<2xf32>
  %v = stablehlo.uniform_quantize %u : (tensor<2xf32>) -> tensor<2x!quant.uniform<u8:f32, 0.5:0>>
  %w = stablehlo.uniform_dequantize %v : (tensor<2x!quant.uniform<u8:f32, 0.5:0>>) -> tensor<2xf32>
  return %d, %e, %f, %w : tensor<5xf32>, tensor<2x2xf32>, tensor<5xf32>, tensor<2xf32>
}
// expect: f32[5]{0} {-1, 0.5, 0, 1, 62}
// expect: f32[2,2]{1,0} { {1, 0}, {-3.25, 256} }
// expect: f32[5]{0} {-2, 1, 0, 2, 62}
// expect: f32[2]{0} {1.5, 0}
