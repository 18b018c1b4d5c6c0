// Command agents measures the memory of sessions whose agents are processes: it starts a hub, runs a turn
// in each session at once, and reports the memory of the hub and of all processes below it.
//
//	go -C bench run ./agents                  a scripted agent that speaks the Agent Client Protocol
//	go -C bench run ./agents --agent codex    Codex, which must be in PATH; also claude
//
// The model of real agents is a fake on loopback. Memory of processes is their proportional set size, so
// that what they share counts once.
package main
