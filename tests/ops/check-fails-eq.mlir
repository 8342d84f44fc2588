// test: run
func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  check.expect_eq_const %a, dense<[[1, 2, 3], [4, 7, 6]]> : tensor<2x3xi32>
  return
}
// expect-error: 4:3: check.expect_eq_const failed: element [1, 1] is 5, expected 7
