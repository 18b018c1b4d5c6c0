package gateway_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/wire"
)

// largePicture returns a picture of 6 MB as a data: URL.
func largePicture(t *testing.T) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 3000, 2000))
	for i := range img.Pix { // a gradient, which is quick to encode
		img.Pix[i] = byte(i % img.Stride / 12)
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, img); err != nil {
		t.Fatalf("encode: %v, want no error", err)
	}
	if b.Len() < 6_000_000 {
		t.Fatalf("the picture has %d bytes, want 6 MB", b.Len())
	}
	return pictureURL(b.Bytes())
}

func pictureURL(data []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
}

// pictureMessage returns a message with pictures.
func pictureMessage(id wire.MessageID, text string, urls ...string) wire.UserMessage {
	m := wire.UserMessage{MessageID: id, MonitorID: "monitor-0", Content: text}
	for _, u := range urls {
		m.Interactions = append(m.Interactions, wire.UserInteraction{Type: wire.DidDraw, Timestamp: 1, ImageData: u})
	}
	return m
}

// wantSmallPicture checks that the row of a message has one picture that is small enough.
func (h *testHub) wantSmallPicture(t *testing.T, id wire.SessionID, token string, message wire.MessageID) {
	t.Helper()
	var rows struct{ Rows []wire.UIRow }
	h.get(sessionPath(id, "/rows"), token).wantStatus(http.StatusOK).decode(&rows)
	for _, row := range rows.Rows {
		if row.MessageID != message || len(row.Images) == 0 {
			continue
		}
		head, data, _ := strings.Cut(row.Images[0], ",")
		raw, err := base64.StdEncoding.DecodeString(data)
		kind, bad := pictures.Check(raw)
		if err != nil || bad != nil || len(raw) > pictures.MaxFitted || head != "data:"+kind+";base64" {
			t.Errorf("the picture has %d bytes, the type %s and the URL %s (%v, %v); want at most %d bytes and the same type",
				len(raw), kind, head, err, bad, pictures.MaxFitted)
		}
		return
	}
	t.Errorf("no row of %s has a picture: %d rows, want one", message, len(rows.Rows))
}

// wantRefused checks that the next error is about a message. Desktops get errors as toasts.
func (x *tab) wantRefused(code wire.Code, message wire.MessageID, reason string) {
	x.t.Helper()
	got := wire.ErrorNotice{}
	for x.desktop && got.Code == 0 {
		a := next[wire.Actions](x)
		if toast, ok := a.Actions[0].(wire.ToastShow); ok && strings.HasPrefix(string(toast.ID), "error-"+strconv.Itoa(int(code))) {
			got.Code, got.MessageID, got.Message = code, a.MessageID, toast.Message
		}
	}
	if !x.desktop {
		got = next[wire.ErrorNotice](x)
	}
	if got.Code != code || got.MessageID != message || !strings.Contains(got.Message, reason) {
		x.t.Fatalf("the error is %+v, want code %d for the message %q with the reason %q", got, code, message, reason)
	}
}

// A picture of 6 MB reaches the agent in both protocols, scaled. A bad one and one that is too large are
// refused with a code, and the connection stays open.
func TestLargePictures(t *testing.T) {
	t.Parallel()
	picture := largePicture(t)
	for name, desktop := range map[string]bool{"native": false, "desktop": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAgentHub(t, false)
			token := h.token("ann", time.Minute)
			var x *tab
			var id wire.SessionID
			if desktop {
				x = h.dialDesktop("", dialOptions{token: token})
			} else {
				id = h.newSession("ann")
				x = h.mustDial("/ws/"+string(id), dialOptions{token: token})
			}
			x.wait = time.Minute
			send := func(m wire.UserMessage) {
				var d wire.Dialect = wire.Native{}
				if desktop {
					d = wire.Desktop{}
				}
				x.writeText(string(d.AppendMessage(nil, wire.Message{ID: m.MessageID, Data: m})))
			}
			send(pictureMessage("m1", "/say seen", picture)) // also as the first frame of a desktop
			if desktop {
				id = next[wire.ConnectionStatus](x).SessionID
			}
			x.untilTurnEnd("m1")
			h.wantSmallPicture(t, id, token, "m1")
			send(pictureMessage("m2", "/say no", pictureURL(make([]byte, 100<<10))))
			x.wantRefused(wire.CodeInvalidMessage, "m2", "not PNG, JPEG, GIF or WebP")
			send(pictureMessage("m3", "/say no", strings.Repeat(picture, 3)))
			x.wantRefused(wire.CodeMessageTooLarge, "", "at most 16 MiB")
			send(pictureMessage("m4", "/say still here"))
			x.untilTurnEnd("m4")
			// It is small enough to be written before the hub closes the connection.
			send(pictureMessage("m5", strings.Repeat("x", 70<<10), pictureURL(make([]byte, 30<<10))))
			x.wantRefused(wire.CodeMessageTooLarge, "", "too large")
			x.wantClosed(wire.CloseTooBig)
		})
	}
}

// The same over REST.
func TestLargePicturesOverREST(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	id, token := h.newSession("ann"), h.userToken("ann")
	body := func(m wire.UserMessage) string {
		frame := string(wire.Desktop{}.AppendMessage(nil, wire.Message{ID: m.MessageID, Data: m}))
		return strings.Replace(frame, `"type":"USER_MESSAGE",`, "", 1)
	}
	path := sessionPath(id, "/messages")
	h.post(path, token, body(pictureMessage("m1", "/say seen", largePicture(t)))).wantStatus(http.StatusAccepted)
	h.wantSmallPicture(t, id, token, "m1")
	h.post(path, token, body(pictureMessage("m2", "look", pictureURL(make([]byte, 100<<10))))).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post(path, token, body(pictureMessage("m3", strings.Repeat("x", 70<<10), largePicture(t)))).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	h.post(path, token, body(pictureMessage("m4", "look", strings.Repeat("a", pictures.MaxMessage)))).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
}
