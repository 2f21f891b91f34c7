/* Prints the size of each struct in a trace, and the offset and size of each of its fields. */
#include "tt_dump.h"

#define STRUCT(type) printf("%s 0 %zu\n", #type, sizeof(struct type))
#define FIELD(type, field) \
    printf("%s.%s %zu %zu\n", #type, #field, offsetof(struct type, field), sizeof(((struct type *) 0)->field))

/* clang-format off */
void print_layout(void) {
    STRUCT(tt_file_header);
    FIELD(tt_file_header, magic); FIELD(tt_file_header, version); FIELD(tt_file_header, kind);
    FIELD(tt_file_header, run_id); FIELD(tt_file_header, number); FIELD(tt_file_header, os_thread);
    FIELD(tt_file_header, open_ns); FIELD(tt_file_header, reserved); FIELD(tt_file_header, clock);
    FIELD(tt_file_header, crc); FIELD(tt_file_header, dropped_records); FIELD(tt_file_header, dropped_bytes);
    FIELD(tt_file_header, dropped_why); FIELD(tt_file_header, reserved2);
    STRUCT(tt_chunk_header);
    FIELD(tt_chunk_header, magic); FIELD(tt_chunk_header, sequence); FIELD(tt_chunk_header, size_bytes);
    FIELD(tt_chunk_header, committed); FIELD(tt_chunk_header, sealed); FIELD(tt_chunk_header, crc);
    FIELD(tt_chunk_header, reserved);
    STRUCT(tt_record);
    FIELD(tt_record, type); FIELD(tt_record, length); FIELD(tt_record, time_ns);
    STRUCT(tt_file_map);
    FIELD(tt_file_map, address); FIELD(tt_file_map, size_bytes); FIELD(tt_file_map, inode);
    FIELD(tt_file_map, path); FIELD(tt_file_map, reserved);
    STRUCT(tt_usage);
    FIELD(tt_usage, minor_faults); FIELD(tt_usage, major_faults);
    FIELD(tt_usage, voluntary_switches); FIELD(tt_usage, involuntary_switches); FIELD(tt_usage, read_bytes);
    STRUCT(tt_load);
    FIELD(tt_load, usage); FIELD(tt_load, load); FIELD(tt_load, path);
    STRUCT(tt_weight);
    FIELD(tt_weight, load); FIELD(tt_weight, name); FIELD(tt_weight, split_index); FIELD(tt_weight, mapped);
    FIELD(tt_weight, file_offset); FIELD(tt_weight, size_bytes); FIELD(tt_weight, address);
    STRUCT(tt_context);
    FIELD(tt_context, context); FIELD(tt_context, load); FIELD(tt_context, n_ctx); FIELD(tt_context, n_batch);
    FIELD(tt_context, n_ubatch); FIELD(tt_context, n_threads); FIELD(tt_context, type_k); FIELD(tt_context, type_v);
    STRUCT(tt_buffer);
    FIELD(tt_buffer, buffer); FIELD(tt_buffer, usage); FIELD(tt_buffer, address); FIELD(tt_buffer, size_bytes);
    FIELD(tt_buffer, name); FIELD(tt_buffer, backend);
    STRUCT(tt_graph);
    FIELD(tt_graph, hash); FIELD(tt_graph, graph); FIELD(tt_graph, n_nodes); FIELD(tt_graph, n_leafs);
    FIELD(tt_graph, reserved);
    STRUCT(tt_node);
    FIELD(tt_node, op); FIELD(tt_node, name); FIELD(tt_node, dtype); FIELD(tt_node, flags); FIELD(tt_node, computes);
    FIELD(tt_node, view_of); FIELD(tt_node, view_offset); FIELD(tt_node, size_bytes); FIELD(tt_node, ne);
    FIELD(tt_node, nb); FIELD(tt_node, src); FIELD(tt_node, op_params);
    STRUCT(tt_placement);
    FIELD(tt_placement, hash); FIELD(tt_placement, placement); FIELD(tt_placement, graph); FIELD(tt_placement, n);
    FIELD(tt_placement, reserved);
    STRUCT(tt_place);
    FIELD(tt_place, address); FIELD(tt_place, buffer); FIELD(tt_place, reserved);
    STRUCT(tt_pass);
    FIELD(tt_pass, usage); FIELD(tt_pass, pass); FIELD(tt_pass, context); FIELD(tt_pass, graph);
    FIELD(tt_pass, placement); FIELD(tt_pass, flags); FIELD(tt_pass, status); FIELD(tt_pass, n_tokens);
    FIELD(tt_pass, n_sequences);
    STRUCT(tt_token);
    FIELD(tt_token, token); FIELD(tt_token, position); FIELD(tt_token, sequence); FIELD(tt_token, output);
    STRUCT(tt_compute);
    FIELD(tt_compute, compute); FIELD(tt_compute, pass); FIELD(tt_compute, split); FIELD(tt_compute, backend);
    FIELD(tt_compute, n_nodes); FIELD(tt_compute, first_node); FIELD(tt_compute, n_map);
    STRUCT(tt_split);
    FIELD(tt_split, begin_ns); FIELD(tt_split, pass); FIELD(tt_split, split); FIELD(tt_split, backend);
    FIELD(tt_split, n_nodes); FIELD(tt_split, first_node); FIELD(tt_split, n_map); FIELD(tt_split, by_op);
    FIELD(tt_split, reserved);
    STRUCT(tt_copy);
    FIELD(tt_copy, begin_ns); FIELD(tt_copy, size_bytes); FIELD(tt_copy, pass); FIELD(tt_copy, split);
    FIELD(tt_copy, tensor); FIELD(tt_copy, from); FIELD(tt_copy, to); FIELD(tt_copy, reserved);
    STRUCT(tt_hooks);
    FIELD(tt_hooks, ticks); FIELD(tt_hooks, pass); FIELD(tt_hooks, inside); FIELD(tt_hooks, between);
    STRUCT(tt_schedule);
    FIELD(tt_schedule, run_delay_ns); FIELD(tt_schedule, cpu_ns); FIELD(tt_schedule, blocked_ns); FIELD(tt_schedule, counted_ns);
    FIELD(tt_schedule, pass);
    FIELD(tt_schedule, n_threads);
    STRUCT(tt_residency);
    FIELD(tt_residency, address); FIELD(tt_residency, size_bytes); FIELD(tt_residency, pass); FIELD(tt_residency, load);
    FIELD(tt_residency, page_bytes); FIELD(tt_residency, n_runs);
    STRUCT(tt_device_counts);
    FIELD(tt_device_counts, n_reads); FIELD(tt_device_counts, read_sectors); FIELD(tt_device_counts, read_ms);
    FIELD(tt_device_counts, n_writes); FIELD(tt_device_counts, written_sectors);
    FIELD(tt_device_counts, in_flight); FIELD(tt_device_counts, busy_ms);
    STRUCT(tt_device);
    FIELD(tt_device, begin); FIELD(tt_device, end); FIELD(tt_device, begin_ns); FIELD(tt_device, device);
    FIELD(tt_device, pass); FIELD(tt_device, load); FIELD(tt_device, reserved);
    STRUCT(tt_cache);
    FIELD(tt_cache, cached); FIELD(tt_cache, dirty); FIELD(tt_cache, writeback); FIELD(tt_cache, evicted);
    FIELD(tt_cache, recently_evicted); FIELD(tt_cache, path); FIELD(tt_cache, pass); FIELD(tt_cache, load);
    FIELD(tt_cache, page_bytes);
    STRUCT(tt_end);
    FIELD(tt_end, wall_ns); FIELD(tt_end, n_passes); FIELD(tt_end, n_segments); FIELD(tt_end, n_skipped);
    STRUCT(tt_op);
    FIELD(tt_op, gap); FIELD(tt_op, took); FIELD(tt_op, barrier); FIELD(tt_op, node); FIELD(tt_op, n_fused);
    FIELD(tt_op, type);
    STRUCT(tt_long_op);
    FIELD(tt_long_op, begin); FIELD(tt_long_op, node); FIELD(tt_long_op, n_fused); FIELD(tt_long_op, reserved);
    FIELD(tt_long_op, type); FIELD(tt_long_op, took); FIELD(tt_long_op, barrier); FIELD(tt_long_op, barrier_high);
    FIELD(tt_long_op, reserved2); FIELD(tt_long_op, more);
    STRUCT(tt_thread_begin);
    FIELD(tt_thread_begin, time); FIELD(tt_thread_begin, thread); FIELD(tt_thread_begin, n_threads);
    FIELD(tt_thread_begin, reserved); FIELD(tt_thread_begin, type); FIELD(tt_thread_begin, compute);
    FIELD(tt_thread_begin, os_thread); FIELD(tt_thread_begin, reserved2); FIELD(tt_thread_begin, reserved3);
    FIELD(tt_thread_begin, more);
    STRUCT(tt_thread_end);
    FIELD(tt_thread_end, time); FIELD(tt_thread_end, thread); FIELD(tt_thread_end, reserved);
    FIELD(tt_thread_end, reserved2); FIELD(tt_thread_end, type);
    STRUCT(tt_index);
    FIELD(tt_index, time); FIELD(tt_index, node); FIELD(tt_index, what); FIELD(tt_index, bytes);
    FIELD(tt_index, reserved); FIELD(tt_index, type); FIELD(tt_index, ne0); FIELD(tt_index, ne1);
    FIELD(tt_index, reserved2); FIELD(tt_index, reserved3); FIELD(tt_index, reserved4); FIELD(tt_index, more);
}
/* clang-format on */
