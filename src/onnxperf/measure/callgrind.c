/* What a worker under valgrind needs to count its calls: requests to valgrind, and what processor it shows.

   The instructions before the request do nothing on a processor; valgrind recognizes them, and reads the request. */

typedef unsigned long word;

word onnxperf_request(word request, word argument)
{
    volatile word arguments[6] = {request, argument, 0, 0, 0, 0};
    word answer = 0; /* of a processor, where valgrind is not there */
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "=d"(answer)
                     : "a"(&arguments[0]), "0"(answer)
                     : "cc", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("mov x3, %1; mov x4, %2;"
                     "ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61;"
                     "orr x10, x10, x10; mov %0, x3"
                     : "=r"(answer)
                     : "r"(answer), "r"(&arguments[0])
                     : "cc", "memory", "x3", "x4");
#else
#error "instructions are counted on x86-64 and aarch64 only"
#endif
    return answer;
}

const char *onnxperf_instruction_set(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? "AVX-512"
           : __builtin_cpu_supports("avx2")  ? "AVX2"
           : __builtin_cpu_supports("avx")   ? "AVX"
                                             : "SSE";
#else
    return "NEON";
#endif
}
