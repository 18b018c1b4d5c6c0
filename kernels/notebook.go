package kernels

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Notebook names the notebook that a kernel belongs to.
type Notebook struct {
	User string
	// Session is the session of the hub, and also the folder below the server's root in which the kernel starts,
	// if that folder exists.
	Session string
	// Name is the notebook within the session. It is empty only for [Client.Remove].
	Name string
	// Kernel is the kind of kernel; empty for the server's default.
	Kernel string
}

// pathPrefix begins the names of notebooks of hubs on a server.
const pathPrefix = "everdesk-"

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// path returns the path under which the server knows the notebook. It has the user as a hash, for the budget.
func (n Notebook) path() string {
	return path.Join(n.Session, pathPrefix+shortHash(n.User)+"-"+shortHash(n.Name)+".ipynb")
}

// serverSession is a session of the server: a notebook and its kernel.
type serverSession struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Kernel Kernel `json:"kernel"`
}

// own reports whether a hub made the session, and for which user, as a hash.
func (s serverSession) own() (user string, ok bool) {
	rest, ok := strings.CutPrefix(path.Base(s.Path), pathPrefix)
	user, _, _ = strings.Cut(rest, "-")
	return user, ok
}

// sessions returns the notebooks of hubs on the server, the longest idle ones first.
func (c *Client) sessions(ctx context.Context) ([]serverSession, error) {
	var all []serverSession
	if err := c.call(ctx, http.MethodGet, "/api/sessions", nil, &all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s serverSession) bool { _, ok := s.own(); return !ok })
	slices.SortFunc(all, func(a, b serverSession) int { return a.Kernel.Active.Compare(b.Kernel.Active) })
	return all, nil
}

// Open returns the kernel of a notebook, and starts it if there is none. Two calls for the same notebook return
// the same kernel. If the budget is spent, a kernel that is idle ends, or the error is [ErrTooMany].
func (c *Client) Open(ctx context.Context, n Notebook) (Kernel, error) {
	specs, err := c.Specs(ctx)
	if err != nil {
		return Kernel{}, err
	}
	// The server keeps a kernel that cannot start in its tables and hangs when it stops.
	name := cmp.Or(n.Kernel, specs.Default)
	spec, ok := specs.Kernels[name]
	if !ok {
		return Kernel{}, fmt.Errorf("the Jupyter server has no kernel %q", name)
	}
	if err := c.makeRoom(ctx, n); err != nil {
		return Kernel{}, err
	}
	var s serverSession
	err = c.call(ctx, http.MethodPost, "/api/sessions", map[string]any{
		"path": n.path(), "name": n.Name, "type": "notebook", "kernel": map[string]string{"name": name},
	}, &s)
	if err == nil && s.Kernel.ID == "" {
		err = fmt.Errorf("%w: it started no kernel", ErrUnavailable)
	}
	s.Kernel.Language = strings.ToLower(spec.Spec.Language)
	return s.Kernel, err
}

// HasFolder reports whether the server has the folder of a session, in which kernels start.
func (c *Client) HasFolder(ctx context.Context, session string) (bool, error) {
	err := c.call(ctx, http.MethodGet, "/api/contents/"+url.PathEscape(session)+"?content=0", nil, nil)
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// makeRoom ends dead and idle kernels until the budget allows one more, unless the notebook has a kernel: first those of the
// same user, then the longest idle ones of others.
func (c *Client) makeRoom(ctx context.Context, n Notebook) error {
	all, err := c.sessions(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s serverSession) bool { return s.Path == n.path() }) {
		return nil
	}
	isOwn := func(s serverSession) bool { user, _ := s.own(); return user == shortHash(n.User) }
	slices.SortStableFunc(all, func(a, b serverSession) int { return number(isOwn(b)) - number(isOwn(a)) })
	own := 0
	for own < len(all) && isOwn(all[own]) {
		own++
	}
	for own >= c.cfg.PerUser || len(all) >= c.cfg.All {
		among := all
		if own >= c.cfg.PerUser {
			among = all[:own]
		}
		at := slices.IndexFunc(among, dead)
		if at < 0 {
			at = slices.IndexFunc(among, idle)
		}
		if at < 0 {
			return fmt.Errorf("%w: at most %d of a user and %d of the hub may run at a time", ErrTooMany, c.cfg.PerUser, c.cfg.All)
		}
		if err := c.end(ctx, all[at].ID); err != nil {
			return err
		}
		own -= number(at < own)
		all = slices.Delete(all, at, at+1)
	}
	return nil
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// idle reports whether no hub uses a kernel and it executes nothing.
func idle(s serverSession) bool { return s.Kernel.Connections == 0 && s.Kernel.State == "idle" }

// dead reports whether a kernel died too often. The server keeps it and never starts it again.
func dead(s serverSession) bool { return s.Kernel.State == "dead" }

func (c *Client) end(ctx context.Context, id string) error {
	err := c.call(ctx, http.MethodDelete, "/api/sessions/"+url.PathEscape(id), nil, nil)
	if errors.Is(err, ErrGone) { // another hub was faster
		return nil
	}
	return err
}

// Remove ends the kernel of a notebook, if it has one, or without a name those of all notebooks of the session, busy or
// not.
func (c *Client) Remove(ctx context.Context, n Notebook) error {
	all, err := c.sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Path != n.path() && (n.Name != "" || path.Dir(s.Path) != n.Session) {
			continue
		}
		if err := c.end(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// Cull ends the kernels of notebooks that are dead or have been idle for too long, and returns their number.
func (c *Client) Cull(ctx context.Context, now time.Time) (int, error) {
	all, err := c.sessions(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range all {
		if dead(s) || idle(s) && now.Sub(s.Kernel.Active) >= c.cfg.IdleAfter {
			if err := c.end(ctx, s.ID); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
