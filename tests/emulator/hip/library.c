// The part of the HIP runtime that IREE's driver calls, on this machine's memory.
//
// "Device memory" is one stretch of this process at a fixed address, handed out from its start and
// never reused. Everything happens at once and in order, so streams and events hold nothing. A
// launch calls back into the program that loaded the library.
// Source of the signatures: HIP runtime API reference.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HIP __attribute__((visibility("default"))) int

enum { SUCCESS = 0, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801 };
enum { GUARD = 4096, ALIGNMENT = 256, MOST_REGIONS = 4096 };

static uint8_t *const BASE = (uint8_t *)0x7F4000000000;
static const size_t CAPACITY = (size_t)256 << 20;

typedef struct {
  uint64_t offset, size;
} region_t;
typedef int (*launch_t)(const char *name, const unsigned *grid_and_block, void **arguments);
typedef struct {
  char name[256];
} function_t;

static launch_t launch;
static region_t regions[MOST_REGIONS];
static int region_count;
static size_t top = GUARD;
static int handle;  // what every context, stream and module points to

// --- for the program that loads the library -------------------------------------------------------

HIP explorer_start(launch_t callback) {
  launch = callback;
  void *at = mmap(BASE, CAPACITY, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  return at == BASE ? SUCCESS : OUT_OF_MEMORY;
}
HIP explorer_region_count(void) { return region_count; }
HIP explorer_region(int index, uint64_t *offset, uint64_t *size) {
  *offset = regions[index].offset;
  *size = regions[index].size;
  return SUCCESS;
}

// --- memory ---------------------------------------------------------------------------------------

static int allocate(void **pointer, size_t size) {
  size_t offset = (top + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (offset + size + GUARD > CAPACITY || region_count == MOST_REGIONS) return OUT_OF_MEMORY;
  regions[region_count++] = (region_t){offset, size};
  top = offset + size + GUARD;
  *pointer = BASE + offset;
  return SUCCESS;
}

HIP hipMalloc(void **p, size_t n) { return allocate(p, n); }
HIP hipMallocManaged(void **p, size_t n, unsigned flags) { return allocate(p, n); }
HIP hipMallocAsync(void **p, size_t n, void *stream) { return allocate(p, n); }
HIP hipHostMalloc(void **p, size_t n, unsigned flags) { return allocate(p, n); }
HIP hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  *device = host;
  return SUCCESS;
}
HIP hipMemcpy(void *to, const void *from, size_t n, int kind) {
  memmove(to, from, n);
  return SUCCESS;
}
HIP hipMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream) {
  return hipMemcpy(to, from, n, kind);
}
HIP hipMemcpyHtoDAsync(void *to, void *from, size_t n, void *stream) {
  return hipMemcpy(to, from, n, 0);
}
HIP hipMemset(void *to, int value, size_t n) {
  memset(to, value, n);
  return SUCCESS;
}
HIP hipMemsetAsync(void *to, int value, size_t n, void *stream) { return hipMemset(to, value, n); }
HIP hipMemsetD8Async(void *to, uint8_t value, size_t n, void *stream) {
  return hipMemset(to, value, n);
}
HIP hipMemsetD16Async(void *to, uint16_t value, size_t n, void *stream) {
  for (size_t i = 0; i < n; i++) ((uint16_t *)to)[i] = value;
  return SUCCESS;
}
HIP hipMemsetD32Async(void *to, int value, size_t n, void *stream) {
  for (size_t i = 0; i < n; i++) ((int *)to)[i] = value;
  return SUCCESS;
}

// --- code -----------------------------------------------------------------------------------------

HIP hipModuleLoadDataEx(void **m, const void *image, unsigned n, void *names, void **values) {
  *m = &handle;
  return SUCCESS;
}
HIP hipModuleLoadData(void **m, const void *image) {
  return hipModuleLoadDataEx(m, image, 0, NULL, NULL);
}
HIP hipModuleGetFunction(void **f, void *m, const char *name) {
  function_t *made = calloc(1, sizeof *made);
  snprintf(made->name, sizeof made->name, "%s", name);
  *f = made;
  return SUCCESS;
}
HIP hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **extra) {
  const unsigned shape[6] = {gx, gy, gz, bx, by, bz};
  return launch(((function_t *)f)->name, shape, arguments);
}
HIP hipFuncGetAttribute(int *value, int attribute, const void *f) {
  *value = 0;
  return SUCCESS;
}

// --- the device -----------------------------------------------------------------------------------

HIP hipGetDeviceCount(int *n) {
  *n = 1;
  return SUCCESS;
}
HIP hipDeviceGet(int *device, int index) {
  *device = index;
  return SUCCESS;
}
HIP hipDeviceGetAttribute(int *value, int attribute, int device) {
  int block = attribute >= 26 && attribute <= 28;   // hipDeviceAttributeMaxBlockDimX to Z
  int shared = attribute >= 73 && attribute <= 75;  // hipDeviceAttributeMaxSharedMemoryPer...
  *value = block ? 1024 : shared ? 65536 : 0;
  return SUCCESS;
}
HIP hipDeviceGetName(char *name, int length, int device) {
  snprintf(name, (size_t)length, "emulated AMD GPU");
  return SUCCESS;
}
HIP hipDeviceGetUuid(void *uuid, int device) {
  memset(uuid, 1, 16);
  return SUCCESS;
}
HIP hipDeviceCanAccessPeer(int *can, int device, int peer) {
  *can = 0;
  return SUCCESS;
}
HIP hipCtxGetCurrent(void **context) {
  *context = &handle;
  return SUCCESS;
}
HIP hipCtxPopCurrent(void **context) {
  if (context) *context = &handle;
  return SUCCESS;
}
HIP hipDevicePrimaryCtxRetain(void **context, int device) { return hipCtxGetCurrent(context); }
HIP hipStreamCreateWithFlags(void **stream, unsigned flags) { return hipCtxGetCurrent(stream); }
HIP hipEventCreate(void **event) { return hipCtxGetCurrent(event); }
HIP hipEventCreateWithFlags(void **event, unsigned flags) { return hipCtxGetCurrent(event); }
HIP hipEventElapsedTime(float *ms, void *start, void *stop) {
  *ms = 0;
  return SUCCESS;
}
HIP hipLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  function(data);
  return SUCCESS;
}
__attribute__((visibility("default"))) const char *hipGetErrorName(int error) {
  return error ? "hipErrorUnknown" : "hipSuccess";
}
__attribute__((visibility("default"))) const char *hipGetErrorString(int error) {
  return error ? "the emulator stopped" : "no error";
}

// Nothing to do, whatever the arguments: the caller's registers are simply left alone.
#define DONE(name) HIP name(void) { return SUCCESS; }
#define REFUSED(name) HIP name(void) { return NOT_SUPPORTED; }

DONE(hipInit) DONE(hipSetDevice) DONE(hipGetLastError) DONE(hipCtxSetCurrent)
DONE(hipCtxPushCurrent) DONE(hipDevicePrimaryCtxRelease) DONE(hipDeviceEnablePeerAccess)
DONE(hipEventDestroy) DONE(hipEventQuery) DONE(hipEventRecord) DONE(hipEventSynchronize)
DONE(hipFree) DONE(hipFreeAsync) DONE(hipHostFree) DONE(hipHostRegister) DONE(hipHostUnregister)
DONE(hipFuncSetAttribute) DONE(hipMemPrefetchAsync) DONE(hipModuleUnload)
DONE(hipStreamDestroy) DONE(hipStreamSynchronize) DONE(hipStreamWaitEvent)

REFUSED(hipGetDeviceProperties) REFUSED(hipModuleGetGlobal)
REFUSED(hipLaunchKernel) REFUSED(hipMallocFromPoolAsync) REFUSED(hipMemPoolCreate)
REFUSED(hipMemPoolDestroy) REFUSED(hipMemPoolGetAttribute) REFUSED(hipMemPoolSetAttribute)
REFUSED(hipMemPoolTrimTo) REFUSED(hipDrvGraphAddMemcpyNode) REFUSED(hipGraphAddEmptyNode)
REFUSED(hipGraphAddEventRecordNode) REFUSED(hipGraphAddKernelNode) REFUSED(hipGraphAddMemsetNode)
REFUSED(hipGraphCreate) REFUSED(hipGraphDestroy) REFUSED(hipGraphExecDestroy)
REFUSED(hipGraphInstantiate) REFUSED(hipGraphLaunch)
