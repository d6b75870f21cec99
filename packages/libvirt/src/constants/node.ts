/**
 * Numbers that mean the whole host in its statistics.
 * @see https://libvirt.org/html/libvirt-libvirt-host.html
 */

/** All CPUs together. @see virNodeGetCPUStatsAllCPUs */
export const NODE_CPU_STATS_ALL_CPUS = -1;

/** All NUMA cells together. @see virNodeGetMemoryStatsAllCells */
export const NODE_MEMORY_STATS_ALL_CELLS = -1;
