package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdpfetch "github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers/outbound"
)

// script has the functions that run in pages.
//
//go:embed page.js
var script string

// sameTab makes links open in the tab itself: there is one only.
const sameTab = `addEventListener("click", (e) => {
  for (const n of e.composedPath()) if (n instanceof HTMLAnchorElement || n instanceof HTMLFormElement) n.target = "_self";
}, true);`

// Bounds of actions and pages.
const (
	startTimeout  = 60 * time.Second
	actionTimeout = 45 * time.Second
	// settleTime is how long a page requests nothing before it is done, and settleTimeout how long an
	// action waits for that.
	settleTime    = 500 * time.Millisecond
	settleTimeout = 10 * time.Second
	width, height = 1280, 800
	// maxText and maxLinks bound what is extracted from a page.
	maxText  = 200_000
	maxLinks = 50
)

// tab is a browser process with one page.
type tab struct {
	ctx    context.Context //nolint:containedctx // that of the process; actions derive theirs from it
	cancel context.CancelFunc
	proxy  *proxy
	folder string
	log    *slog.Logger
	// allowed returns why a page of a host may not be shown, or nil.
	allowed func(ctx context.Context, host string) error
	network activity

	mu      sync.Mutex
	refused error // why the last navigation was refused
}

// startTab starts a browser. allowed must not block long.
func startTab(ctx context.Context, cfg Config, allowed func(context.Context, string) error) (_ *tab, err error) {
	t := &tab{log: cfg.Logger, allowed: allowed}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.folder, err = os.MkdirTemp("", "everdesk-browser-"); err != nil {
		return nil, fmt.Errorf("make the folder of a browser: %w", err)
	}
	if t.proxy, err = startProxy(cfg.Hosts, cfg.Logger); err != nil {
		return nil, err
	}
	allocated, stop := chromedp.NewExecAllocator(context.Background(), t.options(cfg)...)
	t.ctx, t.cancel = chromedp.NewContext(allocated, chromedp.WithErrorf(func(format string, args ...any) {
		cfg.Logger.Debug("browser", "error", fmt.Sprintf(format, args...))
	}))
	end := t.cancel
	t.cancel = func() { end(); stop() }
	started := make(chan error, 1)
	// The process lives as long as the context of the first call, which therefore has no timeout.
	go func() { started <- t.prepare() }()
	select {
	case err = <-started:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(startTimeout):
		err = errors.New("the browser did not start in time")
	}
	if err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	return t, nil
}

// options returns how the browser is started.
func (t *tab) options(cfg Config) []chromedp.ExecAllocatorOption {
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options,
		chromedp.ExecPath(cfg.Path), chromedp.UserDataDir(t.folder), chromedp.WindowSize(width, height),
		// Nothing of the hub's environment, which may have keys.
		chromedp.NoInheritEnv, chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+t.folder, "TMPDIR="+t.folder, "LANG=C.UTF-8"),
		// Everything goes through the proxy, also requests to loopback addresses, which it refuses.
		chromedp.ProxyServer(t.proxy.url()), chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("dns-prefetch-disable", true), chromedp.Flag("no-pings", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("block-new-web-contents", true), chromedp.Flag("mute-audio", true),
		chromedp.Flag("renderer-process-limit", "3"), chromedp.Flag("js-flags", "--max-old-space-size=512"), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("no-sandbox", cfg.NoSandbox),
	)
	return options
}

// prepare opens the page and begins to watch it.
func (t *tab) prepare() error {
	paused := chromedp.Events(t.ctx, cdpfetch.RequestPaused)
	dialogs := chromedp.Events(t.ctx, page.JavascriptDialogOpening)
	go func() {
		for e, err := range paused {
			if err != nil {
				return
			}
			go t.decide(e)
		}
	}()
	go func() {
		for _, err := range dialogs {
			if err != nil {
				return
			}
			// A dialog blocks the page until someone answers.
			_, _ = chromedp.Call(t.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false})
		}
	}()
	t.network.countRequests(t.ctx)
	if _, err := chromedp.Call(t.ctx, cdpfetch.Enable, cdpfetch.EnableParams{
		Patterns: []*cdpfetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeDocument}},
	}); err != nil {
		return err
	}
	if _, err := chromedp.Call(t.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: sameTab}); err != nil {
		return err
	}
	_, err := chromedp.CallBrowser(t.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny})
	return err
}

// decide continues or refuses the request for a document. Frames inside a page may come from any public
// address, as everywhere in the web; the page itself must be on an allowed domain.
func (t *tab) decide(e cdpfetch.EventRequestPaused) {
	ctx, cancel := context.WithTimeout(t.ctx, actionTimeout)
	defer cancel()
	var refused error
	if main := chromedp.FromContext(t.ctx).Target; main == nil || string(e.FrameID) == string(main.TargetID) {
		refused = checkPage(ctx, t.allowed, e.Request.URL, e.RedirectedRequestID != "")
	}
	var err error
	if refused != nil {
		t.mu.Lock()
		t.refused = refused
		t.mu.Unlock()
		_, err = chromedp.Call(ctx, cdpfetch.FailRequest, cdpfetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
	} else {
		_, err = chromedp.Call(ctx, cdpfetch.ContinueRequest, cdpfetch.ContinueRequestParams{RequestID: e.RequestID})
	}
	if err != nil && t.ctx.Err() == nil {
		t.log.Debug("request of a browser not decided", "error", err) // the page may have ended it
	}
}

// checkPage returns why a page may not be shown, or nil. allowed checks a domain.
func checkPage(ctx context.Context, allowed func(context.Context, string) error, address string, redirect bool) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return ErrURL
	}
	err = allowed(ctx, u.Hostname())
	if d, ok := errors.AsType[*fetch.DomainError](err); ok {
		return &fetch.DomainError{Domain: d.Domain, Redirect: redirect}
	}
	return err
}

// act runs an action, waits until the page requests nothing more, and returns its state.
func (t *tab) act(ctx context.Context, act func(context.Context) error) (State, error) {
	inner, cancel := context.WithTimeoutCause(t.ctx, actionTimeout, ErrTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	t.mu.Lock()
	t.refused = nil
	t.mu.Unlock()
	if err := act(inner); err != nil {
		return State{}, t.reason(ctx, inner, err)
	}
	t.network.waitQuiet(inner)
	if err := t.takeRefusal(); err != nil {
		return State{}, err
	}
	var s State
	if err := t.callScript(inner, &s, "state"); err != nil {
		return State{}, t.reason(ctx, inner, err)
	}
	return s, nil
}

// reason returns the error of an action in the words of the hub.
func (t *tab) reason(ctx, inner context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.lost():
		return ErrLost
	case inner.Err() != nil:
		return ErrTimeout
	}
	if refused := t.takeRefusal(); refused != nil {
		return refused
	}
	return err
}

func (t *tab) takeRefusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// process returns that of the browser.
func (t *tab) process() *os.Process { return chromedp.FromContext(t.ctx).Browser.Process() }

// lost reports whether the process has ended.
func (t *tab) lost() bool {
	b := chromedp.FromContext(t.ctx).Browser
	if b == nil || t.ctx.Err() != nil {
		return true
	}
	select {
	case <-b.LostConnection:
		return true
	default:
		return false
	}
}

// callScript runs a function of page.js and decodes what it returns.
func (t *tab) callScript(ctx context.Context, into any, function string, args ...any) error {
	texts := make([]string, len(args))
	for i, a := range args {
		data, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("argument of %s: %w", function, err)
		}
		texts[i] = string(data)
	}
	expression := fmt.Sprintf("JSON.stringify(%s.%s(%s))", strings.TrimSpace(script), function, strings.Join(texts, ","))
	out, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("result of %s: %w", function, err)
	}
	return nil
}

// open shows a page, which the caller has checked.
func (t *tab) open(ctx context.Context, address string) (State, error) {
	u, err := url.Parse(address)
	if err != nil {
		return State{}, ErrURL
	}
	return t.act(ctx, func(ctx context.Context) error {
		r, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: u.String()})
		if err != nil {
			return err
		}
		if refused, ok := errors.AsType[*outbound.AddressError](t.proxy.refusal(u)); ok {
			return &fetch.AddressError{Domain: refused.Host, Class: refused.Class}
		}
		if r.ErrorText != "" {
			return fmt.Errorf("%w: %s", fetch.ErrUnreachable, r.ErrorText)
		}
		return nil
	})
}

// place is what page.js says about an element.
type place struct {
	Found    bool    `json:"found"`
	X        float64 `json:"x"`
	Y        float64 `json:"y"`
	Editable bool    `json:"editable"`
}

func (t *tab) click(ctx context.Context, selector, text string) (State, error) {
	return t.act(ctx, func(ctx context.Context) error {
		var at place
		if err := t.callScript(ctx, &at, "locate", selector, text); err != nil {
			return err
		}
		if !at.Found {
			return ErrNoElement
		}
		return chromedp.Do(ctx, chromedp.MouseClickXY(at.X, at.Y))
	})
}

func (t *tab) write(ctx context.Context, selector, text string) (State, error) {
	return t.act(ctx, func(ctx context.Context) error {
		var at place
		if err := t.callScript(ctx, &at, "focus", selector); err != nil {
			return err
		}
		switch {
		case !at.Found:
			return ErrNoElement
		case !at.Editable:
			return ErrNotEditable
		}
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

func (t *tab) press(ctx context.Context, key string) (State, error) {
	return t.act(ctx, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.KeyEvent(key)) })
}

func (t *tab) scroll(ctx context.Context, d Direction) (State, error) {
	return t.act(ctx, func(ctx context.Context) error {
		var at struct{}
		return t.callScript(ctx, &at, "scroll", d)
	})
}

func (t *tab) extract(ctx context.Context, selector string) (Text, error) {
	var out struct {
		Text
		Found bool `json:"found"`
	}
	state, err := t.act(ctx, func(ctx context.Context) error {
		return t.callScript(ctx, &out, "extract", selector, maxText, maxLinks)
	})
	switch {
	case err != nil:
		return Text{}, err
	case !out.Found:
		return Text{}, ErrNoElement
	}
	out.State = state
	return out.Text, nil
}

// screenshot returns what the page shows, as a JPEG.
func (t *tab) screenshot(ctx context.Context) ([]byte, State, error) {
	var picture []byte
	state, err := t.act(ctx, func(ctx context.Context) error {
		quality := int64(70)
		r, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: &quality})
		picture = r.Data
		return err
	})
	return picture, state, err
}

// close ends the process and deletes its profile.
func (t *tab) close() {
	if t.cancel != nil {
		t.cancel()
	}
	if t.proxy != nil {
		t.proxy.close()
	}
	if t.folder != "" {
		if err := os.RemoveAll(t.folder); err != nil {
			t.log.Warn("profile of a browser not deleted", "folder", t.folder, "error", err)
		}
	}
}

// activity follows the requests of a page.
type activity struct {
	mu      sync.Mutex
	open    map[network.RequestID]bool
	changed time.Time
}

// countRequests counts requests until ctx ends.
func (a *activity) countRequests(ctx context.Context) {
	a.open = map[network.RequestID]bool{}
	watch(ctx, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) { a.set(e.RequestID, true) })
	watch(ctx, network.LoadingFinished, func(e network.EventLoadingFinished) { a.set(e.RequestID, false) })
	watch(ctx, network.LoadingFailed, func(e network.EventLoadingFailed) { a.set(e.RequestID, false) })
}

// watch calls f with the events of a page.
func watch[E any](ctx context.Context, of cdp.Event[E], f func(E)) {
	events := chromedp.Events(ctx, of)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			f(e)
		}
	}()
}

func (a *activity) set(id network.RequestID, open bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = time.Now()
	if open {
		a.open[id] = true
	} else {
		delete(a.open, id)
	}
}

// waitQuiet returns when the page has requested nothing for settleTime, or after settleTimeout: some pages
// never stop.
func (a *activity) waitQuiet(ctx context.Context) {
	began := time.Now()
	tick := time.NewTicker(settleTime / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			a.mu.Lock()
			quiet := len(a.open) == 0 && now.Sub(a.changed) >= settleTime && now.Sub(began) >= settleTime
			if now.Sub(began) >= settleTimeout {
				clear(a.open) // what is still open, such as a stream, is not waited for again
				quiet = true
			}
			a.mu.Unlock()
			if quiet {
				return
			}
		}
	}
}
