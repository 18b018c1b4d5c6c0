package attach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/wire"
)

// recentRows is the maximum number of conversation rows displayed with a snapshot.
const recentRows = 10

// state displays a snapshot of the session.
func (v *view) state(id wire.SessionID, s wire.SessionState) {
	v.out.breakLine()
	v.titles, v.monitors = map[windowRef]string{}, map[wire.MonitorID]wire.MonitorStatus{}
	title := ""
	if s.Title != "" {
		title = fmt.Sprintf(" %q", terminal.OneLine(s.Title))
	}
	v.out.line(tintBlue, "── session %s%s · %s · %d windows · at %s", id, title, cmp.Or(s.Status, wire.SessionIdle), len(s.Windows), s.LastMessageID)
	switch s.Provider {
	case "":
	case demo.Name:
		v.out.line(tintYellow, "answers come from the demo, which is no model; say /help to it, and :help to this program")
	default:
		v.out.line(tintBlue, "answers come from %s; :help says what can be typed", terminal.OneLine(s.Provider))
	}
	for _, w := range s.Windows {
		v.titles[windowRef{w.MonitorID, w.WindowID}] = w.Title
		v.out.line(tintNone, "window %s on %s%s", v.title(w.MonitorID, w.WindowID), w.MonitorID, windowMarks(w))
	}
	rows := slices.DeleteFunc(slices.Clone(s.RecentMessages), isDetail)
	for _, r := range rows[max(0, len(rows)-recentRows):] {
		v.row(r)
	}
	for _, n := range s.Notifications {
		v.out.line(tintYellow, "notification %s: %s", terminal.OneLine(n.Title), terminal.OneLine(n.Body))
	}
	for _, m := range s.Monitors {
		v.monitor(m)
	}
	for _, q := range s.Queues {
		for i, m := range q.Value {
			v.out.line(tintDim, "%s", waitingText(q.Key, i+1, m))
		}
	}
	for _, d := range s.Dialogs {
		v.dialog(d)
	}
	for _, p := range s.Prompts {
		v.prompt(p.Prompt)
	}
	v.planState(s)
	v.out.streams = nil
	for _, a := range s.Agents {
		if a.Status == wire.AgentStatusIdle {
			continue
		}
		v.out.line(tintDim, "%s", agentText(a))
		label := agentLabel(a.Role, a.MonitorID)
		v.out.addText(streamRef{a.Role, true}, label, a.Thinking, 0)
		v.out.addText(streamRef{agent: a.Role}, label, a.Text, 0)
	}
}

// windowMarks returns whether a window is minimized, maximized or locked, in parentheses; "" if
// it is none of these.
func windowMarks(w wire.WindowState) string {
	var marks []string
	if w.Minimized {
		marks = append(marks, "minimized")
	}
	if w.Maximized {
		marks = append(marks, "maximized")
	}
	if w.Lock != "" {
		marks = append(marks, "locked by "+terminal.OneLine(string(w.Lock)))
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, ", ") + ")"
}

// title returns the id of a window, in parentheses after its title if that is different.
func (v *view) title(m wire.MonitorID, w wire.WindowID) string {
	id := terminal.OneLine(string(w))
	if title := terminal.OneLine(v.titles[windowRef{m, w}]); title != "" && title != id {
		return fmt.Sprintf("%q (%s)", terminal.Shorten(title, 60), id)
	}
	return id
}

// action displays one change of the desktop.
func (v *view) action(m wire.MonitorID, action wire.Action) {
	m = cmp.Or(m, firstMonitor)
	switch a := action.(type) {
	case wire.WindowCreate:
		if v.titles == nil {
			v.titles = map[windowRef]string{}
		}
		v.titles[windowRef{m, a.WindowID}] = a.Title
		v.out.line(tintGreen, "+ window %s on %s: %s", v.title(m, a.WindowID), m, contentText(a.Content))
	case wire.WindowClose:
		v.out.line(tintGreen, "- window %s", v.title(m, a.WindowID))
		delete(v.titles, windowRef{m, a.WindowID})
	case wire.WindowSetTitle:
		v.out.line(tintNone, "~ window %s is now %q", v.title(m, a.WindowID), terminal.OneLine(a.Title))
		if v.titles != nil {
			v.titles[windowRef{m, a.WindowID}] = a.Title
		}
	case wire.WindowSetContent:
		v.out.line(tintNone, "~ window %s: %s", v.title(m, a.WindowID), contentText(a.Content))
	case wire.WindowUpdateContent:
		v.out.line(tintDim, "~ window %s: %s", v.title(m, a.WindowID), updateText(a.Operation))
	default:
		if !v.windowAction(m, action) && !v.noticeAction(action) {
			v.out.line(tintDim, "~ %T", action)
		}
	}
}

// windowAction displays changes of a window other than its title and content. It returns false
// for other actions.
func (v *view) windowAction(m wire.MonitorID, action wire.Action) bool {
	var id wire.WindowID
	var what string
	switch a := action.(type) {
	case wire.WindowFocus:
		id, what = a.WindowID, "in front"
	case wire.WindowMinimize:
		id, what = a.WindowID, "minimized"
	case wire.WindowMaximize:
		id, what = a.WindowID, "maximized"
	case wire.WindowRestore:
		id, what = a.WindowID, "restored"
	case wire.WindowMove:
		id, what = a.WindowID, fmt.Sprintf("moved to %g,%g", a.X, a.Y)
	case wire.WindowResize:
		id, what = a.WindowID, fmt.Sprintf("resized to %g×%g", a.W, a.H)
	case wire.WindowLock:
		id, what = a.WindowID, "locked by "+terminal.OneLine(string(a.AgentID))
	case wire.WindowUnlock:
		id, what = a.WindowID, "unlocked"
	case wire.WindowCapture:
		id, what = a.WindowID, "is to be captured"
	default:
		return false
	}
	v.out.line(tintDim, "~ window %s %s", v.title(m, id), what)
	return true
}

// noticeAction displays actions that concern no window. It returns false for other actions.
func (v *view) noticeAction(action wire.Action) bool {
	switch a := action.(type) {
	case wire.ToastShow:
		button := ""
		if a.Action != nil {
			button = " [" + terminal.OneLine(a.Action.Label) + "]"
		}
		t := map[wire.NoticeVariant]tint{wire.NoticeError: tintRed, wire.NoticeWarning: tintYellow, wire.NoticeSuccess: tintGreen}[a.Variant]
		v.out.line(t, "! %s%s", terminal.OneLine(a.Message), button)
	case wire.ToastDismiss, wire.RefreshApps:
		// Not displayed: toasts expire on their own, and a terminal has no apps.
	case wire.NotificationShow:
		v.out.line(tintYellow, "! %s: %s", terminal.OneLine(a.Title), terminal.OneLine(a.Body))
	case wire.NotificationDismiss:
		v.out.line(tintDim, "notification %s dismissed", terminal.OneLine(string(a.ID)))
	case wire.DialogConfirm:
		v.dialog(wire.ApprovalRequest{
			DialogID: a.ID, Title: a.Title, Message: a.Message, ConfirmText: a.ConfirmText, CancelText: a.CancelText,
		})
	case wire.PromptShow:
		v.prompt(a.Prompt)
	case wire.PromptDismiss:
		v.out.line(tintDim, "prompt %s dismissed", terminal.OneLine(string(a.ID)))
	case wire.AppBadge:
		v.out.line(tintDim, "app %s has %d new", terminal.OneLine(string(a.AppID)), a.Count)
	case wire.CreateShortcut:
		v.out.line(tintDim, "+ shortcut %s", terminal.OneLine(a.Shortcut.Label))
	case wire.RemoveShortcut:
		v.out.line(tintDim, "- shortcut %s", terminal.OneLine(string(a.ShortcutID)))
	case wire.UpdateShortcut:
		v.out.line(tintDim, "~ shortcut %s", terminal.OneLine(string(a.ShortcutID)))
	default:
		return false
	}
	return true
}

// contentText describes the content of a window.
func contentText(c wire.Content) string {
	switch d := c.(type) {
	case wire.TextContent:
		return terminal.Shorten(terminal.OneLine(d.Data), 80)
	case wire.MarkdownContent:
		return terminal.Shorten(terminal.OneLine(d.Data), 80)
	case wire.HTMLContent:
		return fmt.Sprintf("HTML, %d bytes", len(d.Data))
	case wire.TableContent:
		return fmt.Sprintf("table of %d rows", len(d.Data.Rows))
	case wire.ChartContent:
		return fmt.Sprintf("%s chart of %d series", d.Data.Kind, len(d.Data.Series))
	case wire.IframeContent:
		return "page " + terminal.Shorten(terminal.OneLine(cmp.Or(d.Data.URL, frameURL(d.Data.Frame))), 80)
	case wire.ComponentContent:
		return componentsText(d.Data.Components)
	case wire.MCPAppContent:
		return "view of " + terminal.Shorten(terminal.OneLine(d.Data.Tool+" of the MCP server "+d.Data.Server), 80)
	case wire.OtherContent:
		return "content for " + terminal.OneLine(d.Renderer)
	}
	return "nothing"
}

// componentsText describes components: the items of checklists and the columns of boards, which users change.
func componentsText(all []wire.Component) string {
	var parts []string
	for _, component := range all {
		switch c := component.(type) {
		case wire.ChecklistComponent:
			items := make([]string, len(c.Items))
			for i, item := range c.Items {
				mark := "[ ] "
				if item.Done {
					mark = "[x] "
				}
				items[i] = mark + item.Text
			}
			parts = append(parts, strings.Join(items, "  "))
		case wire.KanbanComponent:
			columns := make([]string, len(c.Columns))
			for i, column := range c.Columns {
				cards := make([]string, len(column.Cards))
				for n, card := range column.Cards {
					cards[n] = card.Text
				}
				columns[i] = column.Title + ": " + strings.Join(cards, ", ")
			}
			parts = append(parts, strings.Join(columns, " | "))
		}
	}
	if len(parts) == 0 {
		return "components"
	}
	return terminal.Shorten(terminal.OneLine(strings.Join(parts, "; ")), 300)
}

func frameURL(f *wire.Iframe) string {
	if f == nil {
		return ""
	}
	return f.URL
}

// updateText describes a change of content.
func updateText(op wire.UpdateOperation) string {
	switch o := op.(type) {
	case wire.UpdateAppend:
		return "… " + terminal.Shorten(terminal.OneLine(string(o.Data)), 80)
	case wire.UpdatePrepend:
		return terminal.Shorten(terminal.OneLine(string(o.Data)), 80) + " …"
	case wire.UpdateInsertAt:
		return "… " + terminal.Shorten(terminal.OneLine(string(o.Data)), 80) + " …"
	case wire.UpdateReplace:
		return terminal.Shorten(terminal.OneLine(string(o.Data)), 80)
	case wire.UpdateClear:
		return "empty"
	}
	return "changed"
}
