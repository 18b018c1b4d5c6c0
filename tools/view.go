package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// windowLine is an entry in the result of window:list.
type windowLine struct {
	WindowID  wire.WindowID `json:"windowId"`
	Title     string        `json:"title"`
	Renderer  string        `json:"renderer"`
	Bounds    wire.Bounds   `json:"bounds"`
	Minimized bool          `json:"minimized,omitempty"`
	Maximized bool          `json:"maximized,omitempty"`
	Focused   bool          `json:"focused,omitempty"`
	LockedBy  wire.AgentID  `json:"lockedBy,omitempty"`
}

func listWindows(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.act(ctx, func(s *desktop.State) Plan {
		lines := []windowLine{}
		focused, _ := s.Focused(u.Monitor)
		for _, w := range s.Windows(u.Monitor) {
			kind, _ := windowCall{u}.shown(w.Content)
			lines = append(lines, windowLine{
				WindowID: w.WindowID, Title: w.Title, Renderer: kind, Bounds: w.Bounds,
				Minimized: w.Minimized, Maximized: w.Maximized, LockedBy: w.Lock, Focused: w.WindowID == focused.WindowID,
			})
		}
		return Plan{Result: asJSON(lines)}
	})
}

// shown returns the renderer of a window's content, and the content as text or JSON.
func (u windowCall) shown(c wire.Content) (kind, body string) {
	var parts struct {
		Renderer string          `json:"renderer"`
		Data     json.RawMessage `json:"data"`
	}
	if app, ok := c.(wire.MCPAppContent); ok {
		return wire.RendererOf(c), policies.MCPAppText(app.Data)
	}
	if c == nil || json.Unmarshal(u.forms.content.Append(nil, &c), &parts) != nil {
		return "text", ""
	}
	if json.Unmarshal(parts.Data, &body) != nil {
		body = string(parts.Data)
	}
	return parts.Renderer, body
}

type viewInput struct {
	WindowID     wire.WindowID `json:"windowId"`
	IncludeImage bool          `json:"includeImage,omitempty" jsonschema:"Also get a picture, which needs a browser that shows the window."`
}

// captureTimeout bounds the wait for a screenshot by a tab.
const captureTimeout = 5 * time.Second

func viewWindow(ctx context.Context, u *use, in viewInput) providers.ToolResult {
	if !in.IncludeImage {
		return u.act(ctx, func(s *desktop.State) Plan { return Plan{Result: windowCall{u}.view(s, in.WindowID)} })
	}
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		var r providers.ToolResult
		isPage := false
		if err := u.Desktop.Steps.View(ctx, func(s *desktop.State) {
			r = windowCall{u}.view(s, in.WindowID)
			if w, err := (windowCall{u}).find(s, in.WindowID); err == nil {
				kind, _ := windowCall{u}.shown(w.Content)
				isPage = kind == "html" || kind == "iframe"
			}
		}); err != nil {
			return providers.ToolResult{}, err
		}
		if r.IsError {
			return r, nil
		}
		f, answered, err := u.Desktop.Tabs.Show(ctx, u.Caller, func(id wire.RequestID) wire.Action {
			return wire.WindowCapture{WindowID: windowCall{u}.raw(in.WindowID), ActionMeta: wire.ActionMeta{AgentID: u.Agent, RequestID: id}}
		}, captureTimeout)
		if err != nil {
			return r, err
		}
		img, why := picture(f, answered)
		if why != "" {
			r.Text = bounded(r).Text + "\n[no picture: " + why + "]"
			return r, nil
		}
		r.Images = []providers.Image{img}
		if isPage { // the picture shows what the page has drawn
			r.Source = PageSource(in.WindowID)
		}
		return r, nil
	})
}

// view returns a description of a window and its content as text.
func (u windowCall) view(s *desktop.State, id wire.WindowID) providers.ToolResult {
	w, err := u.find(s, id)
	if err != nil {
		return fail(sentence(err.Error()))
	}
	kind, body := u.shown(w.Content)
	var b strings.Builder
	fmt.Fprintf(&b, "Window %q, title %q, renderer %s, at %g,%g, size %g×%g", w.WindowID, w.Title, kind, w.Bounds.X, w.Bounds.Y, w.Bounds.W, w.Bounds.H)
	if w.Minimized {
		b.WriteString(", minimized")
	}
	if w.Lock != "" {
		fmt.Fprintf(&b, ", locked by %s", w.Lock)
	}
	b.WriteString("\n\n")
	b.WriteString(body)
	return text(b.String())
}

// picture returns the screenshot that a tab sent, or the reason why there is none.
func picture(f wire.RenderingFeedback, answered bool) (img providers.Image, why string) {
	switch {
	case !answered:
		return img, "no browser shows the window"
	case !f.Success || f.ImageData == "":
		return img, "the browser could not make one: " + truncate(f.Error, 500)
	case base64.StdEncoding.DecodedLen(len(f.ImageData)) > maxImage:
		return img, "it is too large"
	}
	data, err := base64.StdEncoding.DecodeString(f.ImageData)
	if err != nil {
		return img, "the browser sent something else"
	}
	kind := http.DetectContentType(data)
	if !strings.HasPrefix(kind, "image/") {
		return img, "the browser sent something else"
	}
	return providers.Image{MediaType: kind, Data: data}, ""
}
