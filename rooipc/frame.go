package rooipc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// delimiter ends a frame. JSON has it only as an escape.
const delimiter = '\f'

// MaxFrame bounds a frame of a client, in bytes.
const MaxFrame = 4 << 20

// ErrFrameTooLarge means that a client sent more than [MaxFrame] bytes without the end of a frame.
var ErrFrameTooLarge = fmt.Errorf("the frame has more than %d bytes", MaxFrame)

// ReadFrame returns the next frame without its delimiter, as soon as the delimiter is there. White space
// around it is removed, and empty frames are skipped. An end in the middle of a frame is
// [io.ErrUnexpectedEOF].
func ReadFrame(r *bufio.Reader) ([]byte, error) {
	var frame []byte
	for {
		part, err := r.ReadSlice(delimiter)
		if len(frame)+len(part) > MaxFrame+1 {
			return nil, ErrFrameTooLarge
		}
		frame = append(frame, part...)
		switch {
		case err == nil:
			if frame = bytes.TrimSpace(frame[:len(frame)-1]); len(frame) > 0 {
				return frame, nil
			}
			frame = nil
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(frame)) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// envelope is a frame of node-ipc. Its type is the name of an event; Roo uses one.
type envelope struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

const messageType = "message"

// frameOf returns a message as a frame.
func frameOf(message any) []byte {
	data, err := json.Marshal(envelope{messageType, message})
	if err != nil {
		panic(err) // cannot fail: texts, numbers and valid JSON of the log
	}
	return append(data, delimiter)
}

// Ack returns the first frame of a connection, which tells the client its id.
func Ack(clientID string, pid, ppid int) []byte {
	type ack struct {
		ClientID string `json:"clientId"`
		PID      int    `json:"pid"`
		PPID     int    `json:"ppid"`
	}
	return frameOf(struct {
		Type   string `json:"type"`
		Origin string `json:"origin"`
		Data   ack    `json:"data"`
	}{"Ack", originServer, ack{clientID, pid, ppid}})
}

const (
	originServer = "server"
	originClient = "client"
)
