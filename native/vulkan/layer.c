/*
 * A layer between ggml's Vulkan backend and the driver. With GGML_VK_DEBUG_MARKERS the backend labels what it puts into
 * command buffers: "submit 3", in it "MUL_MAT Qcur-0" for a node, or the first of a fused group ("RMS_NORM+MUL norm-0"),
 * and in that each dispatch. The layer has the device stamp the begin and the end of the labels of nodes.
 *
 * It adds to what the program asks for: the comparison of clocks, and the resetting of queries.
 */
#include "stamps.h"
#include "attach.h"
#include "ggml_waits.h"

#include <vulkan/vk_layer.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAMILIES = 16, MAX_OPEN = 64, NODE = 2 };

/* The loader gives all objects of an instance, or of a device, the same first word. */
static void * key_of(const void * object) { return *(void * const *) object; }

struct instance {
    struct instance *         next;
    void *                    key;
    VkInstance                handle;
    PFN_vkGetInstanceProcAddr find;
};
struct open { /* labels in a command buffer */
    VkCommandBuffer commands;
    unsigned        depth;
    uint64_t        stamp; /* of the label of depth NODE; NOT_STAMPED: none is open */
};
struct device {
    struct device *                  next;
    void *                           key;
    struct stamps *                  stamps; /* NULL: not stamped */
    pthread_mutex_t                  lock;   /* guards `open` */
    struct open                      open[MAX_OPEN];
    PFN_vkGetDeviceProcAddr          find;
    PFN_vkDestroyDevice              DestroyDevice;
    PFN_vkBeginCommandBuffer         BeginCommandBuffer;
    PFN_vkCmdBeginDebugUtilsLabelEXT CmdBeginDebugUtilsLabelEXT;
    PFN_vkCmdEndDebugUtilsLabelEXT   CmdEndDebugUtilsLabelEXT;
};
static pthread_mutex_t   lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two lists */
static struct instance * instances;
static struct device *   devices;

static struct instance * instance_of(const void * object) {
    pthread_mutex_lock(&lock);
    struct instance * at = instances;
    while (at && at->key != key_of(object)) {
        at = at->next;
    }
    pthread_mutex_unlock(&lock);
    return at;
}

static struct device * device_of(const void * object) {
    pthread_mutex_lock(&lock);
    struct device * at = devices;
    while (at && at->key != key_of(object)) {
        at = at->next;
    }
    pthread_mutex_unlock(&lock);
    return at;
}

/* ---- labels ---- */

/* The open labels of this command buffer, a new entry where there is none; NULL: there are too many. Under the lock of
   the device: one thread may open a label, and another one close it. */
static struct open * opened(struct device * device, VkCommandBuffer commands) {
    struct open * unused = NULL;
    for (unsigned i = 0; i < MAX_OPEN; i++) {
        if (device->open[i].commands == commands) {
            return &device->open[i];
        }
        unused = device->open[i].depth ? unused : &device->open[i];
    }
    if (unused) {
        *unused = (struct open) { .commands = commands, .stamp = NOT_STAMPED };
    }
    return unused;
}

/* Commands that are recorded again have no open labels, though the last ones were never closed. */
static VKAPI_ATTR VkResult VKAPI_CALL begin_commands(VkCommandBuffer                  commands,
                                                     const VkCommandBufferBeginInfo * wanted) {
    struct device * device = device_of(commands);
    pthread_mutex_lock(&device->lock);
    struct open * of = opened(device, commands);
    if (of) {
        *of = (struct open) { .commands = commands, .stamp = NOT_STAMPED };
    }
    pthread_mutex_unlock(&device->lock);
    return device->BeginCommandBuffer(commands, wanted);
}

static VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer commands, const VkDebugUtilsLabelEXT * label) {
    struct device * device = device_of(commands);
    if (device->CmdBeginDebugUtilsLabelEXT) {
        device->CmdBeginDebugUtilsLabelEXT(commands, label);
    }
    pthread_mutex_lock(&device->lock);
    struct open * of = opened(device, commands);
    if (of && ++of->depth == NODE && device->stamps && label->pLabelName) {
        of->stamp = stamp_begin(device->stamps, commands, label->pLabelName);
    }
    pthread_mutex_unlock(&device->lock);
}

static VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer commands) {
    struct device * device = device_of(commands);
    pthread_mutex_lock(&device->lock);
    struct open * of = opened(device, commands);
    if (of && of->depth == NODE && of->stamp != NOT_STAMPED) {
        stamp_end(device->stamps, commands, of->stamp);
        of->stamp = NOT_STAMPED;
    }
    if (of && of->depth) {
        of->depth--;
    }
    pthread_mutex_unlock(&device->lock);
    if (device->CmdEndDebugUtilsLabelEXT) {
        device->CmdEndDebugUtilsLabelEXT(commands);
    }
}

/* ---- devices ---- */

static PFN_vkVoidFunction VKAPI_CALL in_device(VkDevice device, const char * name);

/* Where the layers below this one stand in the chain of what the loader passes on; NULL: this is no loader's call. */
static void * link_of(const void * chain, VkStructureType type) {
    for (const VkLayerDeviceCreateInfo * at = chain; at; at = at->pNext) { /* an instance's begins alike */
        if (at->sType == type && at->function == VK_LAYER_LINK_INFO) {
            return (void *) (uintptr_t) at;
        }
    }
    return NULL;
}

static bool supports(const struct instance * instance, VkPhysicalDevice physical, const char * extension) {
    const PFN_vkEnumerateDeviceExtensionProperties list = (PFN_vkEnumerateDeviceExtensionProperties) instance->find(
        instance->handle, "vkEnumerateDeviceExtensionProperties");
    uint32_t n = 0;
    list(physical, NULL, &n, NULL);
    VkExtensionProperties * has   = calloc(n ? n : 1, sizeof *has);
    bool                    found = false;
    if (has && list(physical, NULL, &n, has) == VK_SUCCESS) {
        for (uint32_t i = 0; i < n && !found; i++) {
            found = strcmp(has[i].extensionName, extension) == 0;
        }
    }
    free(has);
    return found;
}

/* Whether a device's clock can be compared with the one that the tracer reads. */
static bool compares_clocks(const struct instance * instance, VkPhysicalDevice physical) {
    const PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT list =
        (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT) instance->find(
            instance->handle, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    VkTimeDomainEXT clocks[MAX_FAMILIES];
    uint32_t        n = MAX_FAMILIES, found = 0;
    if (!supports(instance, physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) || !list
        || list(physical, &n, clocks) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        found += clocks[i] == VK_TIME_DOMAIN_DEVICE_EXT || clocks[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    return found == 2;
}

/* The bits that the stamps of every queue that computes have; 0: one of them has none. */
static uint64_t mask_of(const struct instance * instance, VkPhysicalDevice physical) {
    const PFN_vkGetPhysicalDeviceQueueFamilyProperties list =
        (PFN_vkGetPhysicalDeviceQueueFamilyProperties) instance->find(instance->handle,
                                                                      "vkGetPhysicalDeviceQueueFamilyProperties");
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t                n = MAX_FAMILIES, bits = 64;
    list(physical, &n, families);
    for (uint32_t i = 0; i < n; i++) {
        const bool computes = families[i].queueFlags & VK_QUEUE_COMPUTE_BIT;
        bits                = computes && families[i].timestampValidBits < bits ? families[i].timestampValidBits : bits;
    }
    return bits ? UINT64_MAX >> (64 - bits) : 0;
}

/* The features that the program asks for, with host resets of queries; every device of Vulkan 1.2 has them. */
static VkBool32 * host_reset(const VkDeviceCreateInfo * wanted) {
    for (const VkBaseInStructure * at = wanted->pNext; at; at = at->pNext) {
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
            return &((VkPhysicalDeviceVulkan12Features *) (uintptr_t) at)->hostQueryReset;
        }
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES) {
            return &((VkPhysicalDeviceHostQueryResetFeatures *) (uintptr_t) at)->hostQueryReset;
        }
    }
    return NULL;
}

/* What the program asks for, and what stamps need: resets of queries, which every driver of Vulkan 1.2 has, and the
   comparison of clocks where the driver has it. */
static VkResult create(const struct instance * instance, PFN_vkCreateDevice theirs, VkPhysicalDevice physical,
                       const VkDeviceCreateInfo * wanted, const VkAllocationCallbacks * memory, VkDevice * made) {
    VkPhysicalDeviceHostQueryResetFeatures reset = {
        .sType          = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
        .pNext          = (void *) (uintptr_t) wanted->pNext,
        .hostQueryReset = VK_TRUE,
    };
    VkDeviceCreateInfo more         = *wanted;
    VkBool32 *         theirs_reset = host_reset(wanted);
    const VkBool32     before       = theirs_reset ? *theirs_reset : VK_FALSE;
    const char **      names        = calloc(wanted->enabledExtensionCount + 1, sizeof *names);
    bool               asked = !names || !supports(instance, physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    for (uint32_t i = 0; names && i < wanted->enabledExtensionCount; i++) {
        names[i] = wanted->ppEnabledExtensionNames[i];
        asked    = asked || strcmp(names[i], VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0;
    }
    if (!asked) {
        names[more.enabledExtensionCount++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
        more.ppEnabledExtensionNames        = names;
    }
    if (theirs_reset) {
        *theirs_reset = VK_TRUE;
    } else {
        more.pNext = &reset;
    }
    const VkResult result = theirs(physical, &more, memory, made);
    if (theirs_reset) {
        *theirs_reset = before;
    }
    free(names);
    return result;
}

static void read_all(uint32_t pass, uint32_t split) {
    pthread_mutex_lock(&lock);
    for (struct device * at = devices; at; at = at->next) {
        if (at->stamps) {
            stamps_read(at->stamps, pass, split);
        }
    }
    pthread_mutex_unlock(&lock);
}

static bool know(VkDevice handle, PFN_vkGetDeviceProcAddr find, const struct instance * instance,
                 VkPhysicalDevice physical) {
    const PFN_vkGetPhysicalDeviceProperties ask =
        (PFN_vkGetPhysicalDeviceProperties) instance->find(instance->handle, "vkGetPhysicalDeviceProperties");
    VkPhysicalDeviceProperties is;
    struct stamp_functions     call;
    struct device *            device = calloc(1, sizeof *device);
    if (!device) {
        return false;
    }
    pthread_mutex_init(&device->lock, NULL);
    device->key  = key_of(handle);
    device->find = find;
    ask(physical, &is);
#define FIND(of, name)   (of)->name = (PFN_vk##name) find(handle, "vk" #name);
#define FIND_STAMP(name) FIND(&call, name)
    STAMP_FUNCTIONS(FIND_STAMP)
    FIND(device, DestroyDevice)
    FIND(device, BeginCommandBuffer)
    FIND(device, CmdBeginDebugUtilsLabelEXT)
    FIND(device, CmdEndDebugUtilsLabelEXT)
#undef FIND_STAMP
#undef FIND
    if (!compares_clocks(instance, physical)) {
        call.GetCalibratedTimestampsEXT = NULL;
    }
    device->stamps = stamps_of(handle, &call, mask_of(instance, physical), is.limits.timestampPeriod,
                               is.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
    pthread_mutex_lock(&lock);
    device->next = devices;
    devices      = device;
    __atomic_store_n(&tt_read_stamps, read_all, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return true;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo * wanted,
                                                    const VkAllocationCallbacks * memory, VkDevice * made) {
    const struct instance *   instance = instance_of(physical);
    VkLayerDeviceCreateInfo * link     = link_of(wanted->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link || !instance) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    const PFN_vkGetDeviceProcAddr find = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    const PFN_vkCreateDevice      theirs =
        (PFN_vkCreateDevice) link->u.pLayerInfo->pfnNextGetInstanceProcAddr(instance->handle, "vkCreateDevice");
    link->u.pLayerInfo    = link->u.pLayerInfo->pNext;
    const VkResult result = create(instance, theirs, physical, wanted, memory, made);
    if (result == VK_SUCCESS && !know(*made, find, instance, physical)) {
        ((PFN_vkDestroyDevice) find(*made, "vkDestroyDevice"))(*made, memory);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks * memory) {
    struct device * device = handle ? device_of(handle) : NULL;
    if (!device) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (struct device ** at = &devices; *at; at = &(*at)->next) {
        if (*at == device) {
            *at = device->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (device->stamps) {
        stamps_end(device->stamps);
    }
    pthread_mutex_destroy(&device->lock);
    device->DestroyDevice(handle, memory);
    free(device);
}

/* ---- instances, and what the loader asks for ---- */

static PFN_vkVoidFunction VKAPI_CALL in_instance(VkInstance instance, const char * name);

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *  wanted,
                                                      const VkAllocationCallbacks * memory, VkInstance * made) {
    VkLayerInstanceCreateInfo * link     = link_of(wanted->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    struct instance *           instance = calloc(1, sizeof *instance);
    if (!link || !instance) {
        free(instance);
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    instance->find        = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo    = link->u.pLayerInfo->pNext;
    const VkResult result = ((PFN_vkCreateInstance) instance->find(NULL, "vkCreateInstance"))(wanted, memory, made);
    if (result != VK_SUCCESS) {
        free(instance);
        return result;
    }
    instance->handle = *made;
    instance->key    = key_of(*made);
    pthread_mutex_lock(&lock);
    instance->next = instances; /* kept until the program ends: a later one may have the same key, and comes first */
    instances      = instance;
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

struct ours {
    const char *       name;
    PFN_vkVoidFunction function;
};
#define OURS(name, function) { "vk" #name, (PFN_vkVoidFunction) (function) }
static const struct ours of_devices[] = {
    OURS(GetDeviceProcAddr, in_device),        OURS(DestroyDevice, destroy_device),
    OURS(BeginCommandBuffer, begin_commands),  OURS(CmdBeginDebugUtilsLabelEXT, begin_label),
    OURS(CmdEndDebugUtilsLabelEXT, end_label),
};
static const struct ours of_instances[] = {
    OURS(GetInstanceProcAddr, in_instance),
    OURS(CreateInstance, create_instance),
    OURS(CreateDevice, create_device),
};

static PFN_vkVoidFunction among(const struct ours * ours, size_t n, const char * name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(ours[i].name, name) == 0) {
            return ours[i].function;
        }
    }
    return NULL;
}

static PFN_vkVoidFunction VKAPI_CALL in_device(VkDevice handle, const char * name) {
    const struct device *    device = device_of(handle);
    const PFN_vkVoidFunction ours   = among(of_devices, sizeof of_devices / sizeof *of_devices, name);
    return ours ? ours : device ? device->find(handle, name) : NULL;
}

static PFN_vkVoidFunction VKAPI_CALL in_instance(VkInstance handle, const char * name) {
    const struct instance *  instance = handle ? instance_of(handle) : NULL;
    const PFN_vkVoidFunction ours     = among(of_instances, sizeof of_instances / sizeof *of_instances, name);
    const PFN_vkVoidFunction device   = among(of_devices, sizeof of_devices / sizeof *of_devices, name);
    return ours ? ours : device ? device : instance ? instance->find(handle, name) : NULL;
}

/* The loader calls this one first: its manifest names it. */
REPLACES VkResult VKAPI_CALL tensor_trace_vulkan_layer(VkNegotiateLayerInterface * layer);
REPLACES VkResult VKAPI_CALL tensor_trace_vulkan_layer(VkNegotiateLayerInterface * layer) {
    if (layer->loaderLayerInterfaceVersion < 2) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    layer->loaderLayerInterfaceVersion  = 2;
    layer->pfnGetInstanceProcAddr       = in_instance;
    layer->pfnGetDeviceProcAddr         = in_device;
    layer->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
