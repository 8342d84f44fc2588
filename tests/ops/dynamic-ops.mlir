// test: run
func.func @main() -> (tensor<3x2xi32>, tensor<2x3xf32>, tensor<5xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2x1x3xf32>, tensor<1x4x1xf32>) {
  %n = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi32>
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %m = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %1 = stablehlo.dynamic_broadcast_in_dim %x, %m, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %v = stablehlo.constant dense<9.0> : tensor<f32>
  %lo = stablehlo.constant dense<[-1]> : tensor<1xi64>
  %hi = stablehlo.constant dense<[2]> : tensor<1xi64>
  %in = stablehlo.constant dense<[1]> : tensor<1xi64>
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %2 = stablehlo.dynamic_pad %x, %v, %lo, %two, %in : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xf32>
  %cut = stablehlo.slice %2 [0:5] : (tensor<6xf32>) -> tensor<5xf32>
  %s = stablehlo.constant dense<[0]> : tensor<1xi64>
  %l = stablehlo.constant dense<[3]> : tensor<1xi64>
  %3 = stablehlo.real_dynamic_slice %x, %s, %l, %hi : (tensor<3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  %4 = stablehlo.dynamic_reshape %1, %n : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  %i = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %z = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %5 = "stablehlo.dynamic_gather"(%1, %i, %z) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x1x3xf32>
  %a = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %pad = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi64>
  %6 = "stablehlo.dynamic_conv"(%a, %k, %pad) {window_strides = array<i64: 1>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi64>) -> tensor<1x4x1xf32>
  return %0, %1, %cut, %3, %4, %5, %6 : tensor<3x2xi32>, tensor<2x3xf32>, tensor<5xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2x1x3xf32>, tensor<1x4x1xf32>
}
// expect: s32[3,2]{1,0} { {0, 0}, {1, 1}, {2, 2} }
// expect: f32[2,3]{1,0} { {1, 2, 3}, {1, 2, 3} }
// expect: f32[5]{0} {9, 2, 9, 3, 9}
// expect: f32[2]{0} {1, 3}
// expect: f32[3,2]{1,0} { {1, 2}, {3, 1}, {2, 3} }
// expect: f32[2,1,3]{2,1,0} { { {1, 2, 3} }, { {1, 2, 3} } }
// expect: f32[1,4,1]{2,1,0} { { {10}, {21}, {32}, {3} } }
