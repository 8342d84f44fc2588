// test: run
func.func @main() -> tensor<2xf32> {
  %a = stablehlo.constant dense<[1.0, -0.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf32>
  check.expect_eq %a, %b : tensor<2xf32>
  check.expect_eq_const %a, dense<[1.0, 0.0]> : tensor<2xf32>
  %c = stablehlo.constant dense<[1.00005, 0.00005]> : tensor<2xf32>
  check.expect_almost_eq_const %a, dense<[1.00005, 0.00005]> : tensor<2xf32>
  check.expect_almost_eq %a, %c, tolerance = 0.1 : tensor<2xf32>
  %d = stablehlo.constant dense<[1.00000036, -0.0]> : tensor<2xf32>
  check.expect_close %d, %b, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  return %a : tensor<2xf32>
}
// expect: f32[2]{0} {1, -0.0}
