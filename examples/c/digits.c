/* digits.c - reads a handwritten digit with a small trained network, through the C ABI.
 *
 *   digits tests/data/digits.pte tests/data/digit_7.pgm
 */
#define _POSIX_C_SOURCE 199309L
#include <et.h>
#include <stdio.h>
#include <time.h>

enum { SIDE = 8, WHITE = 16, DIGITS = 10 };

/* A grey picture as text ("P2"), 8 by 8: white is 16, ink is dark. The network wants ink as large numbers. */
static int read_picture(const char* path, float pixels[SIDE * SIDE]) {
  int width = 0, height = 0, white = 0;
  FILE* file = fopen(path, "r");
  int ok = file != NULL && fscanf(file, "P2 %d %d %d", &width, &height, &white) == 3 && width == SIDE &&
           height == SIDE && white == WHITE;
  for (int i = 0; ok && i < SIDE * SIDE; ++i) {
    int grey = 0;
    ok = fscanf(file, "%d", &grey) == 1;
    pixels[i] = (float)(WHITE - grey);
  }
  if (file != NULL) {
    fclose(file);
  }
  return ok;
}

static void show_picture(const float pixels[SIDE * SIDE]) {
  for (int i = 0; i < SIDE * SIDE; ++i) {
    const int shade = (int)pixels[i] * 4 / WHITE; /* 0 to 4 */
    printf("%c%c%s", " .+*#"[shade], " .+*#"[shade], i % SIDE == SIDE - 1 ? "\n" : "");
  }
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  float pixels[SIDE * SIDE];
  if (argc != 3 || !read_picture(argv[2], pixels)) {
    fprintf(stderr, "usage: digits MODEL.pte PICTURE.pgm    (8x8 pixels, white 16)\n");
    return 2;
  }
  show_picture(pixels);

  /* The input: float32[1, 1, 8, 8], read from `pixels` at each run. */
  const int64_t sizes[4] = {1, 1, SIDE, SIDE};
  et_value input = {0}, output = {0};
  input.kind = ET_KIND_TENSOR;
  input.u.as_tensor.data = pixels;
  input.u.as_tensor.sizes = sizes;
  input.u.as_tensor.dtype = ET_DTYPE_FLOAT32;
  input.u.as_tensor.rank = 4;

  et_program* program = NULL;
  et_method* method = NULL;
  double began = 0, took = 0;
  int ok = et_program_load_file(argv[1], NULL, &program) == ET_OK &&
           et_method_load(program, "forward", NULL, &method) == ET_OK &&
           et_method_set_input(method, 0, &input) == ET_OK;
  if (ok) {
    began = now_ms();
    ok = et_method_execute(method) == ET_OK;
    took = now_ms() - began;
  }
  ok = ok && et_method_get_output(method, 0, &output) == ET_OK;
  if (ok) {
    /* The output: the probability of each digit, float32[1, 10]. */
    const float* probability = (const float*)output.u.as_tensor.data;
    int best = 0;
    for (int digit = 1; digit < DIGITS; ++digit) {
      best = probability[digit] > probability[best] ? digit : best;
    }
    printf("This is a %d (%.1f %% sure), read in %.3f ms.\n", best, 100.0 * (double)probability[best], took);
  } else {
    fprintf(stderr, "%s\n", et_last_error_text());
  }
  et_method_free(method);
  et_program_free(program);
  return ok ? 0 : 1;
}
