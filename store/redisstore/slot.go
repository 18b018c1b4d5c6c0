package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

// waiterTimeout is how long a waiter counts without asking again. It is longer than
// a failover should take, and than a busy machine forgets a process.
const waiterTimeout = 5 * time.Second

// Acquire asks for a slot and waits for it if it may. It may be repeated.
func (s *Store) Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error) {
	what := "acquire slot of " + r.Semaphore
	if err := store.CheckSlot(r); err != nil {
		return store.Slot{}, fmt.Errorf("acquire slot: %w", err)
	}
	slot := store.Slot{Semaphore: r.Semaphore, Holder: r.Holder, TTL: r.TTL}
	ticket, err := s.requestSlot(ctx, what, r, "0")
	if err != nil || ticket == "" {
		return slot, err
	}
	keys := s.keys.semaphore(r.Semaphore)
	granted := slotListener{wakeup: make(wakeup, 1), holder: r.Holder}
	defer s.bus.listen(partition(r.Semaphore), keys[0], granted)()
	poll := time.NewTicker(s.cfg.SlotEvery)
	defer poll.Stop()
	for {
		select {
		case <-granted.wakeup:
		case <-poll.C:
		case <-ctx.Done():
		case <-s.runCtx.Done():
		}
		again, err := s.requestSlot(ctx, what, r, ticket)
		if errors.Is(err, store.ErrUnavailable) {
			continue // it keeps its ticket
		}
		if err != nil {
			s.cancelSlotRequest(ctx, slot)
			return store.Slot{}, err
		}
		if again == "" {
			return slot, nil
		}
	}
}

// requestSlot makes one attempt. It returns the ticket to ask again with, or none when
// the slot is ours.
func (s *Store) requestSlot(ctx context.Context, what string, r store.SlotRequest, ticket string) (string, error) {
	answer, err := s.callShared(ctx, what, s.scripts.acquire, s.keys.semaphore(r.Semaphore), semaphoreKinds(),
		r.Limit, r.Holder, r.Key, milliseconds(r.TTL), r.Wait, milliseconds(waiterTimeout), ticket)
	if err != nil {
		return "", err
	}
	v, err := parseReply(answer)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	switch v.word {
	case "OK":
		return "", nil
	case "WAIT":
		return v.text(0), nil
	default:
		return "", fmt.Errorf("%s: %w", what, store.ErrFull)
	}
}

// cancelSlotRequest takes back a request whose caller has gone, so that its turn goes to
// somebody who wants it. If that fails the store finds out in a while.
func (s *Store) cancelSlotRequest(ctx context.Context, slot store.Slot) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.RetryFor)
	defer cancel()
	if err := s.ReleaseSlot(ctx, slot); err != nil && !errors.Is(err, store.ErrClosed) {
		s.log.DebugContext(ctx, "place in a queue is left to expire", "semaphore", slot.Semaphore, "err", err)
	}
}

// RenewSlot prolongs a slot by its time to live.
func (s *Store) RenewSlot(ctx context.Context, slot store.Slot) error {
	what := "renew slot of " + slot.Semaphore
	if err := errors.Join(checkSlotNames(slot), store.CheckTTL(slot.TTL)); err != nil {
		return fmt.Errorf("renew slot: %w", err)
	}
	v, err := s.callShared(ctx, what, s.scripts.renewSlot, s.keys.semaphore(slot.Semaphore), semaphoreKinds(),
		slot.Holder, milliseconds(slot.TTL))
	if err != nil {
		return err
	}
	r, err := parseReply(v)
	if err == nil && r.word == "FENCED" {
		err = store.ErrFenced
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ReleaseSlot gives a slot back. One that is not held is no error.
func (s *Store) ReleaseSlot(ctx context.Context, slot store.Slot) error {
	if err := checkSlotNames(slot); err != nil {
		return fmt.Errorf("release slot: %w", err)
	}
	_, err := s.callShared(ctx, "release slot of "+slot.Semaphore, s.scripts.releaseSlot,
		s.keys.semaphore(slot.Semaphore), semaphoreKinds(), slot.Holder)
	return err
}

// Slots tells how busy a semaphore is.
func (s *Store) Slots(ctx context.Context, semaphore string) (store.SlotUse, error) {
	what := "count slots of " + semaphore
	if err := store.CheckName("semaphore", semaphore); err != nil {
		return store.SlotUse{}, fmt.Errorf("count slots: %w", err)
	}
	keys := s.keys.semaphore(semaphore)
	v, err := s.call(ctx, what, retryable, s.scripts.slotUse, []string{keys[0], keys[2]})
	if err != nil {
		return store.SlotUse{}, err
	}
	r, err := parseReply(v)
	if err != nil {
		return store.SlotUse{}, fmt.Errorf("%s: %w", what, err)
	}
	held, heldErr := r.count(0)
	waiting, waitingErr := r.count(1)
	if err := errors.Join(heldErr, waitingErr); err != nil {
		return store.SlotUse{}, fmt.Errorf("%s: %w: %w", what, errReply, err)
	}
	return store.SlotUse{Held: int(held), Waiting: int(waiting)}, nil //nolint:gosec // counts of a set
}

func checkSlotNames(slot store.Slot) error {
	return errors.Join(store.CheckName("semaphore", slot.Semaphore), store.CheckName("holder", slot.Holder))
}

// slotListener hears that a holder has been given a slot.
type slotListener struct {
	wakeup
	holder string
}

func (t slotListener) onMessage(message string) {
	if message == t.holder {
		t.signal()
	}
}

func (t slotListener) onConnect() { t.signal() }

func (t slotListener) wantsBatches() bool { return false }
