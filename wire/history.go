package wire

// Messages and events of the history family.

// AskResponse answers an ask row.
type AskResponse struct {
	Inbound
	// TS identifies the row.
	TS        Millis    `json:"ts"`
	Response  AskAnswer `json:"response"`
	Text      string    `json:"text,omitempty"`
	Images    []string  `json:"images,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// AskAnswer is the kind of answer to an ask row.
type AskAnswer string

// The answers to ask rows.
const (
	AnswerYes     AskAnswer = "yesButtonClicked"
	AnswerNo      AskAnswer = "noButtonClicked"
	AnswerMessage AskAnswer = "messageResponse"
	AnswerObject  AskAnswer = "objectResponse"
)

func (AskAnswer) values() []string { return list(AnswerYes, AnswerNo, AnswerMessage, AnswerObject) }

// Rewind removes a row and everything that followed from it, for users and for models.
type Rewind struct {
	Inbound
	// TS identifies the row.
	TS Millis `json:"ts"`
	// IncludeTarget keeps the row itself for users. The models' messages for it are removed
	// nevertheless.
	IncludeTarget     bool `json:"includeTarget,omitempty"`
	RestoreCheckpoint bool `json:"restoreCheckpoint,omitempty"`
	// Revision is the revision of the conversation that the sender saw, see
	// [MonitorStatus]. If the current one differs, nothing is removed.
	Revision  *int      `json:"revision,omitempty" wire:"min=0"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// EditMessage rewinds to a row of the user and sends another text instead.
type EditMessage struct {
	Inbound
	// TS identifies the row.
	TS                Millis   `json:"ts"`
	Text              string   `json:"text"`
	Images            []string `json:"images,omitempty"`
	RestoreCheckpoint bool     `json:"restoreCheckpoint,omitempty"`
	// Revision is as in [Rewind].
	Revision  *int      `json:"revision,omitempty" wire:"min=0"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// DeleteQueuedMessage removes a queued message. Its own idempotency key can only be the
// envelope's message_id.
type DeleteQueuedMessage struct {
	Inbound
	// Target is the message to remove.
	Target    MessageID `json:"messageId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// Condense replaces the model's history by a summary.
type Condense struct {
	Inbound
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// MessageUpdated carries a new or changed row.
type MessageUpdated struct {
	Outbound
	Action    RowChange `json:"action"`
	Message   UIRow     `json:"message"`
	TaskID    TaskID    `json:"taskId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// RowChange is the kind of change of a row.
type RowChange string

// The changes of rows.
const (
	RowCreated RowChange = "created"
	RowUpdated RowChange = "updated"
)

func (RowChange) values() []string { return list(RowCreated, RowUpdated) }

// HistoryRewound says that rows were removed.
type HistoryRewound struct {
	Outbound
	// TS is the row that was rewound to.
	TS Millis `json:"ts"`
	// Removed is the number of removed rows: the target, unless Included says that it
	// stays, and the later ones of the monitor except Kept.
	Removed  int      `json:"removed" wire:"min=0"`
	Included bool     `json:"included,omitempty"`
	Kept     []Millis `json:"kept,omitempty"`
	// Restored are older rows, oldest first, for which a snapshot has room again. The
	// conversation contained them all the time.
	Restored []UIRow `json:"restored,omitempty"`
	// Revision counts the rewinds of the conversation.
	Revision int `json:"revision,omitempty" wire:"min=0"`
	// Checkpoint is the restored checkpoint, if any.
	Checkpoint string    `json:"checkpoint,omitempty"`
	MonitorID  MonitorID `json:"monitorId,omitempty"`
	MessageID  MessageID `json:"messageId,omitempty"`
	// By is the connection that requested it.
	By ConnectionID `json:"by,omitempty"`
}

// RestoreCheckpoint brings the files and windows of the session to the state of a checkpoint. The
// present state is saved before, so it can be undone. Agents must not be at work.
type RestoreCheckpoint struct {
	Inbound
	// Hash is the checkpoint, or the first 7 or more characters of it.
	Hash      string    `json:"hash" wire:"min=7,max=64"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// SetCheckpoints switches the checkpoints of the session on or off.
type SetCheckpoints struct {
	Inbound
	Enabled   bool      `json:"enabled"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// CheckpointSaved says that the files can be restored to this moment.
type CheckpointSaved struct {
	Outbound
	Hash string `json:"hash"`
	// TS is the row of the conversation from which on the checkpoint holds.
	TS Millis `json:"ts"`
	// From is the checkpoint before, if any.
	From string `json:"from,omitempty"`
	// Reason is "message" for a message of a user, "tool" for the first tool of a turn that changes
	// files, and "restore" for the state before a restore.
	Reason    string    `json:"reason,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// CheckpointRestored says that files and windows are in the state of a checkpoint, or why not.
type CheckpointRestored struct {
	Outbound
	Hash string `json:"hash"`
	// Safety is the checkpoint of the state before. Restoring it is the undo.
	Safety string `json:"safety,omitempty"`
	// Files and Windows are the numbers of those that changed.
	Files   int `json:"files" wire:"min=0"`
	Windows int `json:"windows" wire:"min=0"`
	// Error is why files were not restored, or only in part.
	Error     string    `json:"error,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// By is the connection that requested it.
	By ConnectionID `json:"by,omitempty"`
}

// QueueUpdated carries the queued messages of a monitor.
type QueueUpdated struct {
	Outbound
	MonitorID MonitorID       `json:"monitorId"`
	Messages  []QueuedMessage `json:"messages"`
	MessageID MessageID       `json:"messageId,omitempty"`
}

// QueuedMessage is a queued message.
type QueuedMessage struct {
	Timestamp Millis    `json:"timestamp"`
	ID        MessageID `json:"id"`
	Text      string    `json:"text"`
	Images    []string  `json:"images,omitempty"`
	// WindowID is set if the message is queued for a window's agent.
	WindowID WindowID `json:"windowId,omitempty"`
}
