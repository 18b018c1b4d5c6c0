package worker

import "time"

// Limits are the bounds of a process.
type Limits struct {
	// Memory bounds what the process maps, in bytes. That includes what the Go runtime needs itself.
	Memory uint64
	// CPU bounds the processor time.
	CPU time.Duration
	// FileBytes bounds the files that it writes; 0 means that it can write none.
	FileBytes uint64
}

// cpuReserve is added to the time of a worker that ends itself in time.
const cpuReserve = 2 * time.Second

// Limit bounds the memory and the processor time of this process, which cannot write files.
func Limit(memory uint64, timeout time.Duration) error {
	return Limits{Memory: memory, CPU: timeout + cpuReserve}.Apply()
}
