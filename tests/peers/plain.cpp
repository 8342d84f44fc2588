// Plain loops as a C++ programmer writes them, built with -O3 for this machine by libraries.py: what hloc's code for the
// same programs is measured against. Every function returns the least milliseconds of `repeat` runs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <immintrin.h>
#include <thread>
#include <vector>

namespace {

// Rows [first, last) of `rows` on each of so many threads, which stay in being between runs only as the system keeps them.
double best_ms(int threads, int repeat, int64_t rows, const std::function<void(int64_t, int64_t)>& work) {
  double best = 1e30;
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work, rows * t / threads, rows * (t + 1) / threads);
    work(0, rows / threads);
    for (std::thread& other : others) other.join();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void copy_past_the_caches(float* out, const float* in, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256 a = _mm256_loadu_ps(in + i), b = _mm256_loadu_ps(in + i + 8);
    _mm256_stream_ps(out + i, a);
    _mm256_stream_ps(out + i + 8, b);
  }
  for (; i < n; ++i) out[i] = in[i];
  _mm_sfence();
}

}  // namespace

extern "C" {

// `streaming`: with stores that go past the caches; `out` is then aligned to 32 bytes.
double copy_ms(float* out, const float* in, int64_t rows, int64_t width, int streaming, int threads, int repeat) {
  return best_ms(threads, repeat, rows, [=](int64_t a, int64_t b) {
    if (streaming) return copy_past_the_caches(out + a * width, in + a * width, (b - a) * width);
    for (int64_t i = a * width; i < b * width; ++i) out[i] = in[i] + 0.0f;  // a copy that is no call of memcpy
  });
}

double softmax_ms(float* out, const float* in, int64_t rows, int64_t width, int threads, int repeat) {
  return best_ms(threads, repeat, rows, [=](int64_t a, int64_t b) {
    for (int64_t r = a; r < b; ++r) {
      const float* x = in + r * width;
      float* y = out + r * width;
      float most = x[0], sum = 0;
      for (int64_t i = 1; i < width; ++i) most = std::max(most, x[i]);
      for (int64_t i = 0; i < width; ++i) sum += y[i] = std::exp(x[i] - most);
      for (int64_t i = 0; i < width; ++i) y[i] /= sum;
    }
  });
}

double layernorm_ms(float* out, const float* in, const float* scale, const float* shift, int64_t rows, int64_t width, int threads, int repeat) {
  return best_ms(threads, repeat, rows, [=](int64_t a, int64_t b) {
    for (int64_t r = a; r < b; ++r) {
      const float* x = in + r * width;
      float sum = 0, squares = 0;
      for (int64_t i = 0; i < width; ++i) sum += x[i];
      float mean = sum / static_cast<float>(width);
      for (int64_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
      float factor = 1 / std::sqrt(squares / static_cast<float>(width) + 1e-5f);
      for (int64_t i = 0; i < width; ++i) out[r * width + i] = (x[i] - mean) * factor * scale[i] + shift[i];
    }
  });
}

// ((x * 1.5 + 2) * x + 0.5) * 0.25
double chain_ms(float* out, const float* in, int64_t rows, int64_t width, int threads, int repeat) {
  return best_ms(threads, repeat, rows, [=](int64_t a, int64_t b) {
    for (int64_t i = a * width; i < b * width; ++i) out[i] = ((in[i] * 1.5f + 2.0f) * in[i] + 0.5f) * 0.25f;
  });
}

// One step of bodies that attract each other: positions and velocities [n][3], masses [n].
double nbody_ms(float* new_position, float* new_velocity, const float* position, const float* velocity, const float* mass, int64_t n,
                int threads, int repeat) {
  std::vector<float> at(static_cast<size_t>(3 * n));
  float *x = at.data(), *y = x + n, *z = y + n;
  for (int64_t i = 0; i < n; ++i) x[i] = position[3 * i], y[i] = position[3 * i + 1], z[i] = position[3 * i + 2];
  return best_ms(threads, repeat, n, [=](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) {
      float ax = 0, ay = 0, az = 0;
      for (int64_t j = 0; j < n; ++j) {
        float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        float inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
        float pull = inverse * inverse * inverse * mass[j];
        ax += dx * pull, ay += dy * pull, az += dz * pull;
      }
      const float pull[3] = {ax, ay, az};
      for (int k = 0; k < 3; ++k) {
        new_velocity[3 * i + k] = velocity[3 * i + k] + 0.01f * pull[k];
        new_position[3 * i + k] = position[3 * i + k] + 0.01f * new_velocity[3 * i + k];
      }
    }
  });
}

// Fifty steps of the mean of four neighbours on the inside of [n][n], with the largest change of each step; one thread.
double jacobi_ms(float* out, const float* in, int64_t n, int repeat) {
  std::vector<float> other(static_cast<size_t>(n * n));
  return best_ms(1, repeat, 1, [&](int64_t, int64_t) {
    std::memcpy(out, in, static_cast<size_t>(n * n) * sizeof(float));
    std::memcpy(other.data(), in, static_cast<size_t>(n * n) * sizeof(float));
    float *from = out, *to = other.data(), change = INFINITY;
    for (int step = 0; step < 50 && change > 1e-6f; ++step) {
      change = 0;
      for (int64_t i = 1; i < n - 1; ++i)
        for (int64_t j = 1; j < n - 1; ++j) {
          float mean = 0.25f * (from[(i - 1) * n + j] + from[(i + 1) * n + j] + from[i * n + j - 1] + from[i * n + j + 1]);
          change = std::max(change, std::fabs(mean - from[i * n + j]));
          to[i * n + j] = mean;
        }
      std::swap(from, to);
    }
    if (from != out) std::memcpy(out, from, static_cast<size_t>(n * n) * sizeof(float));
  });
}

}  // extern "C"
