package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

// waiterTimeout is the time after which a waiter that does not ask again loses its place.
// It is longer than a failover or a pause of a busy process should take.
const waiterTimeout = 5 * time.Second

// Semaphores implements the semaphores of the contract.
type Semaphores struct {
	*caller
	rebuilder *rebuilder
	bus       *bus
}

// Acquire takes a slot of a semaphore. A free slot goes to the waiting request whose key
// holds the fewest slots, and among those to the oldest. Without r.Wait a full semaphore is
// [store.ErrFull]. It is safe to retry.
func (s *Semaphores) Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error) {
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
			continue // the request keeps its ticket
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

// requestSlot makes one attempt. It returns the ticket for the next attempt, or "" when the
// slot is granted.
func (s *Semaphores) requestSlot(ctx context.Context, what string, r store.SlotRequest, ticket string) (string, error) {
	answer, err := s.rebuilder.callShared(ctx, what, s.scripts.acquire, s.keys.semaphore(r.Semaphore), semaphoreKinds(),
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

// cancelSlotRequest removes the request of a caller that has returned, so that the slot
// goes to another request. If it fails, the request expires after waiterTimeout.
func (s *Semaphores) cancelSlotRequest(ctx context.Context, slot store.Slot) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.RetryFor)
	defer cancel()
	if err := s.ReleaseSlot(ctx, slot); err != nil && !errors.Is(err, store.ErrClosed) {
		s.log.DebugContext(ctx, "cannot cancel slot request, leaving it to expire", "semaphore", slot.Semaphore, "err", err)
	}
}

// RenewSlot extends a slot by its TTL from now. [store.ErrFenced] if the slot has expired
// or was released.
func (s *Semaphores) RenewSlot(ctx context.Context, slot store.Slot) error {
	what := "renew slot of " + slot.Semaphore
	if err := errors.Join(checkSlotNames(slot), store.CheckTTL(slot.TTL)); err != nil {
		return fmt.Errorf("renew slot: %w", err)
	}
	v, err := s.rebuilder.callShared(ctx, what, s.scripts.renewSlot, s.keys.semaphore(slot.Semaphore), semaphoreKinds(),
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

// ReleaseSlot frees a slot. A slot that is not held is not an error.
func (s *Semaphores) ReleaseSlot(ctx context.Context, slot store.Slot) error {
	if err := checkSlotNames(slot); err != nil {
		return fmt.Errorf("release slot: %w", err)
	}
	_, err := s.rebuilder.callShared(ctx, "release slot of "+slot.Semaphore, s.scripts.releaseSlot,
		s.keys.semaphore(slot.Semaphore), semaphoreKinds(), slot.Holder)
	return err
}

// Slots counts the held slots and the waiting requests of a semaphore.
func (s *Semaphores) Slots(ctx context.Context, semaphore string) (store.SlotUse, error) {
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

// slotListener wakes Acquire when its holder was granted a slot.
type slotListener struct {
	wakeup
	holder string
}

func (t slotListener) onMessage(message string) {
	if message == t.holder {
		t.signal()
	}
}
