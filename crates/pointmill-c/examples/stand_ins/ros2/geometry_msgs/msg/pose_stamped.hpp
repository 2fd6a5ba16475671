// A stand-in: see messages.hpp.
#pragma once
#include <messages.hpp>
