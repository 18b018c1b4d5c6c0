// Package acptest is a stand-in for an agent that speaks the Agent Client Protocol, for tests: [Run]
// is its main function. Its model executes the directives of package agenttest, and these:
//
//	/send KIND {json}       send an update of that kind
//	/request METHOD {json}  send a request and say the result; DIR is the working directory
package acptest
