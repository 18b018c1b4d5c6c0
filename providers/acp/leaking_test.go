//go:build !agents

package acp_test

import "github.com/everdesk/everdesk/providers/agent/agenttest"

// leaking returns the provider of which the leaks are counted.
func leaking() agenttest.NewProvider { return newProvider("load") }
