// Catch2's main; it alone takes most of the compile time of the unit tests.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
