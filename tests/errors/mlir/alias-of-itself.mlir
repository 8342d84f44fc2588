// test: read
!a = tuple<!a>
func.func @main(%x: !a) -> !a {
  return %x : !a
}
// expect-error: 2:12: '!a' is no type that hloc knows
