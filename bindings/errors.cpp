/// C++ exceptions become those of trellis/errors.py, so that code without the compiled part can name them.
#include "bindings.hpp"

namespace trellis::bindings {

namespace {
void raise(const char* python_name, const std::exception& error) {
  const nb::object type = nb::module_::import_("trellis.errors").attr(python_name);
  PyErr_SetString(type.ptr(), error.what());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const ChecksumError& e) {
    raise("ChecksumError", e);
  } catch (const FileError& e) {
    raise("FileError", e);
  } catch (const BadArgument& e) {
    raise("BadArgument", e);
  } catch (const MemoryError& e) {
    raise("OutOfMemory", e);
  } catch (const NumericError& e) {
    raise("NumericError", e);
  } catch (const NotAvailable& e) {
    raise("NotAvailable", e);
  } catch (const Error& e) {
    raise("Error", e);
  }
}
}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate, nullptr); }

}  // namespace trellis::bindings
