package redisstore

import (
	"embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a Lua script, which Redis executes atomically.
type script struct {
	name   string
	source string
	sha    string
}

// scripts are all scripts of the store.
type scripts struct {
	create, claim, renew, renewShared                       *script
	release, remove, discard                                *script
	commit, read, load, list, send, receive                 *script
	quarantine, unattended, announce, replicas              *script
	moveAside, listSession, endRebuild, listRecent          *script
	gather, pack, unpack                                    *script
	cool, noteObject, condemn, listUnused, listCold         *script
	storage                                                 *script
	acquire, renewSlot, releaseSlot, slotUse, take          *script
	getDocument, putDocument, removeDocument, listDocuments *script
}

func loadScripts() scripts {
	return scripts{
		create:      loadScript("create", "recent"),
		claim:       loadScript("claim", "lease", "log", "recent"),
		renew:       loadScript("renew"),
		renewShared: loadScript("renewshared"),
		release:     loadScript("release"),
		remove:      loadScript("delete", "recent"),
		discard:     loadScript("discard"),
		commit:      loadScript("commit", "lease", "log", "recent"),
		read:        loadScript("read"),
		load:        loadScript("load"),
		list:        loadScript("list"),
		send:        loadScript("send"),
		receive:     loadScript("receive"),
		quarantine:  loadScript("quarantine", "lease"),
		unattended:  loadScript("unattended"),
		announce:    loadScript("announce"),
		replicas:    loadScript("replicas"),
		moveAside:   loadScript("moveaside"),
		listSession: loadScript("listsession", "lease", "recent"),
		endRebuild:  loadScript("endrebuild"),
		listRecent:  loadScript("listrecent"),
		gather:      loadScript("gather"),
		pack:        loadScript("pack"),
		unpack:      loadScript("unpack"),
		cool:        loadScript("cool"),
		noteObject:  loadScript("noteobject"),
		condemn:     loadScript("condemn"),
		listUnused:  loadScript("listunused"),
		listCold:    loadScript("listcold"),
		storage:     loadScript("storage"),

		acquire:     loadScript("acquire", "slots"),
		renewSlot:   loadScript("renewslot", "slots"),
		releaseSlot: loadScript("releaseslot", "slots"),
		slotUse:     loadScript("slotuse"),
		take:        loadScript("take"),

		getDocument:    loadScript("get", "docs"),
		putDocument:    loadScript("put", "docs"),
		removeDocument: loadScript("removedoc", "docs"),
		listDocuments:  loadScript("listdocs", "docs"),
	}
}

// loadScript joins a script with the functions it shares with others. Its first line holds
// the flags for Redis and must stay the first.
func loadScript(name string, shared ...string) *script {
	flags, body, _ := strings.Cut(luaFile(name), "\n")
	var source strings.Builder
	source.WriteString(flags + "\n")
	for _, s := range shared {
		source.WriteString(luaFile(s))
	}
	source.WriteString(body)
	return &script{name: name, source: source.String(), sha: redis.NewScript(source.String()).Hash()}
}

func luaFile(name string) string {
	text, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("embedded script: %v", err)) // embedded at compile time
	}
	return string(text)
}

// appendCallHead appends the first arguments of a script's call, by its hash or, if byText is set,
// with its source for a server that does not have it.
func (s *script) appendCallHead(args []any, byText bool, keys int) []any {
	if byText {
		return append(args, "eval", s.source, keys)
	}
	return append(args, "evalsha", s.sha, keys)
}

// command returns the arguments of a script's call.
func (s *script) command(byText bool, keys []string, args []any) []any {
	all := s.appendCallHead(make([]any, 0, 3+len(keys)+len(args)), byText, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	return append(all, args...)
}
