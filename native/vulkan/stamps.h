/* Time stamps that a device writes when it begins and has ended what lies between two labels. */
#ifndef VULKAN_STAMPS_H
#define VULKAN_STAMPS_H

#include "tt_ggml.h"

#include <vulkan/vulkan_core.h>

#include <stdbool.h>

/* The functions of the next layer, or of the driver, that are called here. */
#define STAMP_FUNCTIONS(X) \
    X(CreateQueryPool) \
    X(DestroyQueryPool) \
    X(ResetQueryPool) \
    X(GetQueryPoolResults) \
    X(CmdWriteTimestamp) \
    X(GetCalibratedTimestampsEXT)

struct stamps;
struct stamp_functions {
#define FUNCTION(name) PFN_vk##name name;
    STAMP_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* `mask`: the bits of a stamp that count. `ns_per_tick`: of its clock. `exact`: the device runs one command after
   another. NULL: it cannot be stamped; the trace says why. */
TT_HIDDEN struct stamps * stamps_of(VkDevice device, const struct stamp_functions * functions, uint64_t mask,
                                    double ns_per_tick, bool exact);
TT_HIDDEN void            stamps_end(struct stamps * stamps);
/* The next commands of this buffer are what `label` says; a number for stamp_end, or NOT_STAMPED. */
#define NOT_STAMPED UINT64_MAX
TT_HIDDEN uint64_t stamp_begin(struct stamps * stamps, VkCommandBuffer commands, const char * label);
TT_HIDDEN void     stamp_end(struct stamps * stamps, VkCommandBuffer commands, uint64_t number);
/* Record those that the device has written. This split is done: what it has not written of that, it never will. */
TT_HIDDEN void stamps_read(struct stamps * stamps, uint32_t pass, uint32_t split);

#endif
