package command

import (
	"context"
	"io"
	"os"
	"strings"
)

// Command is a subcommand.
type Command struct {
	Name string
	Args string // the form of its arguments, for the help
	Help string
	// Flags describes its flags besides the settings, one per line.
	Flags string
	Run   func(context.Context, Call) error
}

// Call is one invocation of a subcommand: its arguments, environment and standard streams.
type Call struct {
	Args    []string // after the name of the command
	Environ []string
	Stdin   io.Reader // nil means os.Stdin
	Stdout  io.Writer
	Stderr  io.Writer
	// Local parses the flags in args, and the environment, as settings of the hub. It returns
	// where a hub with these settings is, and the arguments that are not flags.
	Local func(args, environ []string, wrong *UsageErrors) (Local, []string)
}

// Local says where the hub on this machine is, according to the settings.
type Local struct {
	Addr      string // HOST:PORT
	AdminAddr string // the separate address for admins; empty for none
	Folder    string // of a file store; empty for other stores
}

// TokenVariable is the variable with the credential for requests to a running hub. It is not a
// setting.
const TokenVariable = "HUB_TOKEN"

// MCPTokenVariable is the variable with the MCP token for `hub mcp`. It is not a setting either.
const MCPTokenVariable = "HUB_MCP_TOKEN" //nolint:gosec // a name

// Env returns the value of an environment variable, or "".
func (c Call) Env(name string) string {
	for _, entry := range c.Environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			return text
		}
	}
	return ""
}

// Input returns the standard input.
func (c Call) Input() io.Reader {
	if c.Stdin == nil {
		return os.Stdin
	}
	return c.Stdin
}
