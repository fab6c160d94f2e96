// Our Python package beside this program.
#pragma once

#include <string>

namespace noisefloor::cli {

// The value of PYTHONPATH with which scripts find the package that lies beside this program, in a
// source tree or installed, before what the variable has. Empty: it lies nowhere here, and a Python
// that has it installed needs nothing.
std::string PythonPathWithPackage(const std::string& program_folder);

}  // namespace noisefloor::cli
