/*
 * A layer between ggml's Vulkan backend and the driver. With GGML_VK_DEBUG_MARKERS the backend labels what it puts into
 * command buffers: "submit 3", in it "MUL_MAT Qcur-0" for a node, or the first of a fused group ("RMS_NORM+MUL norm-0"),
 * and in that each dispatch. The layer has the device stamp the begin and the end of the labels of nodes.
 *
 * It adds to what the program asks for: the comparison of clocks, and the resetting of queries.
 */
#include "stamps.h"
#include "attach.h"
#include "ggml_splits.h"

#include <vulkan/vk_layer.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAMILIES = 16, MAX_OPEN = 8, NODE = 2 };

/* The loader gives all objects of an instance, or of a device, the same first word. */
static void * key_of(const void * object) { return *(void * const *) object; }

struct instance {
    struct instance *         next;
    void *                    key;
    VkInstance                handle;
    PFN_vkGetInstanceProcAddr find;
};
struct device {
    struct device *                  next;
    void *                           key;
    struct stamps *                  stamps; /* NULL: not stamped */
    PFN_vkGetDeviceProcAddr          find;
    PFN_vkDestroyDevice              DestroyDevice;
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

/* The command buffers in which this thread has opened labels. */
static __thread struct {
    VkCommandBuffer commands;
    unsigned        depth;
    uint32_t        stamp; /* of the label of depth NODE; UINT32_MAX: none is open */
} open[MAX_OPEN];

static unsigned opened(VkCommandBuffer commands) {
    unsigned unused = 0;
    for (unsigned i = 0; i < MAX_OPEN; i++) {
        if (open[i].depth && open[i].commands == commands) {
            return i;
        }
        unused = open[i].depth ? unused : i;
    }
    open[unused].commands = commands;
    open[unused].depth    = 0;
    open[unused].stamp    = UINT32_MAX;
    return unused;
}

static VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer commands, const VkDebugUtilsLabelEXT * label) {
    const struct device * device = device_of(commands);
    const unsigned        i      = opened(commands);
    if (device->CmdBeginDebugUtilsLabelEXT) {
        device->CmdBeginDebugUtilsLabelEXT(commands, label);
    }
    if (++open[i].depth == NODE && device->stamps && label->pLabelName) {
        open[i].stamp = stamp_begin(device->stamps, commands, label->pLabelName);
    }
}

static VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer commands) {
    const struct device * device = device_of(commands);
    const unsigned        i      = opened(commands);
    if (open[i].depth == NODE && open[i].stamp != UINT32_MAX) {
        stamp_end(device->stamps, commands, open[i].stamp);
        open[i].stamp = UINT32_MAX;
    }
    open[i].depth -= open[i].depth ? 1 : 0;
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

/* What the program asks for, and what stamps need; the layer's own part is left out where the driver lacks it. */
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
    if (names && supports(instance, physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME)) {
        for (uint32_t i = 0; i < wanted->enabledExtensionCount; i++) {
            names[i] = wanted->ppEnabledExtensionNames[i];
        }
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

static void read_all(void) {
    pthread_mutex_lock(&lock);
    for (struct device * at = devices; at; at = at->next) {
        if (at->stamps) {
            stamps_read(at->stamps);
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
    device->key  = key_of(handle);
    device->find = find;
    ask(physical, &is);
#define FIND(of, name)   (of)->name = (PFN_vk##name) find(handle, "vk" #name);
#define FIND_STAMP(name) FIND(&call, name)
    STAMP_FUNCTIONS(FIND_STAMP)
    FIND(device, DestroyDevice)
    FIND(device, CmdBeginDebugUtilsLabelEXT)
    FIND(device, CmdEndDebugUtilsLabelEXT)
#undef FIND_STAMP
#undef FIND
    device->stamps = stamps_of(handle, &call, mask_of(instance, physical), is.limits.timestampPeriod,
                               is.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
    pthread_mutex_lock(&lock);
    device->next   = devices;
    devices        = device;
    tt_read_stamps = read_all;
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
    return result == VK_SUCCESS && !know(*made, find, instance, physical) ? VK_ERROR_OUT_OF_HOST_MEMORY : result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks * memory) {
    struct device * device = handle ? device_of(handle) : NULL;
    if (!device) {
        return;
    }
    if (device->stamps) {
        stamps_end(device->stamps);
    }
    pthread_mutex_lock(&lock);
    for (struct device ** at = &devices; *at; at = &(*at)->next) {
        if (*at == device) {
            *at = device->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
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
    OURS(GetDeviceProcAddr, in_device),
    OURS(DestroyDevice, destroy_device),
    OURS(CmdBeginDebugUtilsLabelEXT, begin_label),
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
