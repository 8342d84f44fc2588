// test: run
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 1.00000048]> : tensor<2xf32>
  %b = stablehlo.constant dense<1.0> : tensor<2xf32>
  check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  return
}
// expect-error: 5:3: check.expect_close failed: element [1] is 1.0000005, expected 1
