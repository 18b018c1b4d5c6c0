package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Prefix begins the names of tools of MCP servers for models.
const Prefix = "mcp__"

// maxModelName is the longest name of a tool that all model APIs accept.
const maxModelName = 64

// plain returns a name with only those characters that all model APIs accept. Underscores are not
// repeated, because two of them separate the parts of a name.
func plain(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "_") {
			b.WriteByte('_')
		}
	}
	return strings.Trim(b.String(), "_-")
}

// maxServerPart bounds the server in the name of a tool.
const maxServerPart = 24

// serverPart returns the part of a tool's name that stands for its server. Servers with different names have
// different parts.
func serverPart(server string) string {
	p := plain(server)
	if p != server || len(p) > maxServerPart {
		p = strings.TrimLeft(p[:min(len(p), maxServerPart-7)]+"-"+short(server), "-")
	}
	return p
}

// modelName returns the name of a tool for models, mcp__server__tool.
func modelName(server, tool string) string {
	head := Prefix + serverPart(server) + "__"
	name := toolPart(tool)
	if room := maxModelName - len(head); name != tool || len(name) > room {
		name = name[:min(len(name), room-7)] + "-" + short(tool)
	}
	return head + name
}

// toolPart returns a tool's name with only those characters that all model APIs accept.
func toolPart(tool string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, tool)
}

// short returns a short hash of a text.
func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}
