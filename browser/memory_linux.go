package browser

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryOf returns the memory that a process and its descendants do not share with others, in bytes. A
// process that ends meanwhile counts nothing.
func memoryOf(pid int) int64 {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	children := map[int][]int{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		if err != nil {
			continue
		}
		// The name of the program may contain anything, so fields count from its closing parenthesis.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], id)
		}
	}
	var sum int64
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		sum += privateMemory(todo[0])
		todo = append(todo, children[todo[0]]...)
	}
	return sum
}

// privateMemory returns the resident memory of a process without what it shares, in bytes.
func privateMemory(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(data), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}
