package wire

// Messages and events of the history family.

// AskResponse answers a row that asks.
type AskResponse struct {
	Inbound
	// TS is the row.
	TS        Millis    `json:"ts"`
	Response  AskAnswer `json:"response"`
	Text      string    `json:"text,omitempty"`
	Images    []string  `json:"images,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// AskAnswer is how a row that asks was answered.
type AskAnswer string

// The answers to rows that ask.
const (
	AnswerYes     AskAnswer = "yesButtonClicked"
	AnswerNo      AskAnswer = "noButtonClicked"
	AnswerMessage AskAnswer = "messageResponse"
	AnswerObject  AskAnswer = "objectResponse"
)

func (AskAnswer) values() []string { return list(AnswerYes, AnswerNo, AnswerMessage, AnswerObject) }

// Rewind takes back a row and all that followed from it, for people and for models.
type Rewind struct {
	Inbound
	// TS is the row.
	TS Millis `json:"ts"`
	// IncludeTarget leaves people the row itself. What models had of it goes.
	IncludeTarget     bool `json:"includeTarget,omitempty"`
	RestoreCheckpoint bool `json:"restoreCheckpoint,omitempty"`
	// Revision is that of the conversation that the sender saw, see
	// [MonitorStatus]. If it is another one, nothing is taken back.
	Revision  *int      `json:"revision,omitempty" wire:"min=0"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// EditMessage rewinds to a row of the user and says something else there.
type EditMessage struct {
	Inbound
	// TS is the row.
	TS                Millis   `json:"ts"`
	Text              string   `json:"text"`
	Images            []string `json:"images,omitempty"`
	RestoreCheckpoint bool     `json:"restoreCheckpoint,omitempty"`
	// Revision is as in [Rewind].
	Revision  *int      `json:"revision,omitempty" wire:"min=0"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// DeleteQueuedMessage takes back a message that still waits. Its own idempotency
// key can only be the envelope's message_id.
type DeleteQueuedMessage struct {
	Inbound
	// Target is the message to take back.
	Target    MessageID `json:"messageId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// Condense sums up the model's history.
type Condense struct {
	Inbound
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// MessageUpdated shows a row that is new or has changed.
type MessageUpdated struct {
	Outbound
	Action    RowChange `json:"action"`
	Message   UIRow     `json:"message"`
	TaskID    TaskID    `json:"taskId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// RowChange is what happened to a row.
type RowChange string

// What happens to rows.
const (
	RowCreated RowChange = "created"
	RowUpdated RowChange = "updated"
)

func (RowChange) values() []string { return list(RowCreated, RowUpdated) }

// HistoryRewound says that rows are gone.
type HistoryRewound struct {
	Outbound
	// TS is the row that was rewound to.
	TS Millis `json:"ts"`
	// Removed is how many rows are gone: that one, unless Included says that it
	// stays, and those of the monitor that came after it, but for Kept.
	Removed  int      `json:"removed" wire:"min=0"`
	Included bool     `json:"included,omitempty"`
	Kept     []Millis `json:"kept,omitempty"`
	// Restored are older rows, the oldest first, that a snapshot has room for
	// again. The conversation had them all the time.
	Restored []UIRow `json:"restored,omitempty"`
	// Revision counts how often the conversation was rewound.
	Revision int `json:"revision,omitempty" wire:"min=0"`
	// Checkpoint is the one that was restored, if any.
	Checkpoint string    `json:"checkpoint,omitempty"`
	MonitorID  MonitorID `json:"monitorId,omitempty"`
	MessageID  MessageID `json:"messageId,omitempty"`
	// By is the connection that wanted it.
	By ConnectionID `json:"by,omitempty"`
}

// CheckpointSaved says that the files can be brought back to this moment.
type CheckpointSaved struct {
	Outbound
	Hash      string    `json:"hash"`
	TS        Millis    `json:"ts"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// QueueUpdated shows the messages that wait for a monitor.
type QueueUpdated struct {
	Outbound
	MonitorID MonitorID       `json:"monitorId"`
	Messages  []QueuedMessage `json:"messages"`
	MessageID MessageID       `json:"messageId,omitempty"`
}

// QueuedMessage is a message that waits.
type QueuedMessage struct {
	Timestamp Millis    `json:"timestamp"`
	ID        MessageID `json:"id"`
	Text      string    `json:"text"`
	Images    []string  `json:"images,omitempty"`
	// WindowID is there when it waits for a window's agent.
	WindowID WindowID `json:"windowId,omitempty"`
}
