// A library that asks for memory in the ways that TensorRT does; stable_test.py looks at where it lies.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

extern "C" {

void* ask(int how, std::size_t bytes) {
  switch (how) {
    case 0: return std::malloc(bytes);
    case 1: return std::calloc(2, bytes / 2);
    case 2: return std::realloc(std::malloc(bytes / 2), bytes);
    case 3: return std::aligned_alloc(64, bytes);
    case 4: return ::operator new(bytes);
    case 5: return ::operator new[](bytes, std::nothrow);
    case 6: return ::operator new(bytes, std::align_val_t{128});
    default: {
      void* block = nullptr;
      return posix_memalign(&block, 64, bytes) == 0 ? block : nullptr;
    }
  }
}

void give_back(void* block) { std::free(block); }

// A string that this library makes and libstdc++ grows, or the other way round.
std::size_t strings(std::size_t rounds) {
  std::string text(40, 'x');
  for (std::size_t i = 0; i < rounds; ++i) text += "longer and longer";
  return text.size();
}

}  // extern "C"
