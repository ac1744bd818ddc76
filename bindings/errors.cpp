/// C++ exceptions become those of trellis/errors.py, so that code without the compiled part can name them.
#include <string_view>

#include "bindings.hpp"
#include "trellis/base/stop.hpp"

namespace trellis::bindings {

namespace {
void raise(const char* python_name, const std::exception& error) {
  const nb::object type = nb::module_::import_("trellis.errors").attr(python_name);
  std::string_view text = error.what();  // it may quote a file, or a name, that is not UTF-8
  // The condition in C++ is for those who debug it (TRELLIS_REQUIRE).
  if (const size_t condition = text.rfind(" [required: "); condition != text.npos && text.back() == ']')
    text = text.substr(0, condition);
  const nb::object said =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace"));
  PyErr_SetObject(type.ptr(), said.ptr());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Interrupted&) {
    raise_interruption();
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
