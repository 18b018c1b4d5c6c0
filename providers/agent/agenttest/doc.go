// Package agenttest has what the stand-ins for agents in tests share: a model that executes
// directives in messages, one per line, and the prompts that contain them.
//
//	/say "TEXT"        say it
//	/call TOOL {json}  call a tool; calls on consecutive lines are made at once
//	/results           say the results of the newest calls
//	/recall            say all text of the conversation
//	/hang              do nothing until the turn is interrupted or steered
//	/fail CLASS        fail
//	/ask TOOL {json}   ask for approval of a call of the agent's own tool, and say the answer
//
// A stand-in is the test binary itself, started again. It stores its conversations in files, so that
// other processes can resume them.
package agenttest
