// test: roundtrip
func.func @main(%x: tensor<0x1099511627776x1099511627776xf32>) -> tensor<0x1099511627776x1099511627776xf32> {
  %y = stablehlo.negate %x : tensor<0x1099511627776x1099511627776xf32>
  return %y : tensor<0x1099511627776x1099511627776xf32>
}
// expect-ok
