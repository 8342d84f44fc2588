// hloc: read a graph, compile it, call it.
//
//   auto module  = hloc::read_file("mlp.hlo");                     if (!module)  return report(module.error());
//   auto program = hloc::compile(*module, {.target = "native"});   if (!program) return report(program.error());
//   auto done    = program->call(inputs, outputs);                 if (!done)    return report(done.error());
//
// Every call is thread-safe; errors are values; nothing prints or ends the process.
#pragma once

#include "module.h"
#include "program.h"
#include "result.h"
#include "tensor.h"
