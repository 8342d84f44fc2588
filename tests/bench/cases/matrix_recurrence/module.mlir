// A 3x3 matrix of f64 through five hundred turns: M <- A M + 0.125 M.
module @matrix_recurrence {
  func.func public @main(%a: tensor<3x3xf64>, %m: tensor<3x3xf64>) -> tensor<3x3xf64> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %w:2 = stablehlo.while(%i = %c0, %x = %m) : tensor<i32>, tensor<3x3xf64>
    cond {
      %c = stablehlo.constant dense<500> : tensor<i32>
      %p = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      %e = stablehlo.constant dense<1.250000e-01> : tensor<f64>
      %es = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
      %d = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
      %s = stablehlo.multiply %es, %x : tensor<3x3xf64>
      %y = stablehlo.add %d, %s : tensor<3x3xf64>
      stablehlo.return %n, %y : tensor<i32>, tensor<3x3xf64>
    }
    return %w#1 : tensor<3x3xf64>
  }
}
