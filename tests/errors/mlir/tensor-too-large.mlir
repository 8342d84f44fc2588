// test: read
func.func @main(%x: tensor<1099511627776x1099511627776xf32>) {
  return
}
// expect-error: 2:21: the tensor type has more than 2^59 elements
