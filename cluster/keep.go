package cluster

import (
	"context"
	"fmt"
	"time"
)

// keep shows that the run is alive, until ctx is done.
func (c *Coordinator) keep(ctx context.Context) {
	tick := time.NewTicker(c.timing.Beat)
	defer tick.Stop()
	idle, alone := 0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.desk.tick()
		if c.desk.capacity() > 0 {
			alone = time.Now()
		} else if time.Since(alone) > 15*time.Second {
			alone = time.Now()
			c.log("no worker is here: the run waits for some to join")
		}
		if err := c.beat(ctx, &idle); err != nil && ctx.Err() == nil {
			c.log("the cluster's store does not answer: " + err.Error())
		}
	}
}

// beat refreshes the run in the store and looks for trouble.
func (c *Coordinator) beat(ctx context.Context, idle *int) error {
	spec := c.desk.spec
	if err := func() error { // another run's end may have removed it
		ctx, cancel := context.WithTimeout(ctx, modelTime)
		defer cancel()
		return c.store.putModel(ctx, spec.Model, c.model)
	}(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if now, err := c.store.spec(ctx, spec.Name); err == nil && now.Run != "" && now.Run != spec.Run {
		c.desk.fail(fmt.Errorf("run %s was taken over by another coordinator", spec.Name))
		return nil
	}
	if err := c.store.putSpec(ctx, spec); err != nil {
		return err
	}
	if err := c.store.putProgress(ctx, spec.Name, c.Stats()); err != nil {
		return err
	}
	return c.checkLost(ctx, idle)
}

// checkLost fails the run when chunks are open that the server neither holds
// nor waits for: it gave them up and its word of that was lost, or it lost
// them. Otherwise the run would wait forever.
func (c *Coordinator) checkLost(ctx context.Context, idle *int) error {
	d := c.desk
	d.mu.Lock()
	before, out := d.chunks, 0
	var lost *ticket
	for _, t := range d.open {
		if t.sequence != 0 {
			out, lost = out+1, t
		}
	}
	d.mu.Unlock()
	info, err := c.consumer.Info(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	quiet := d.chunks == before
	d.mu.Unlock()
	if *idle++; !quiet || out == 0 || info.NumPending > 0 || info.NumAckPending > 0 {
		*idle = 0
	}
	if *idle >= 5 {
		d.fail(fmt.Errorf("the server has no more of %d chunks that are open: %w", out, lost.poisoned(c.timing.Deliveries)))
	}
	return nil
}
