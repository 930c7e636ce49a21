package train

import "math"

// rate is the learning rate of a step: the schedule times the linear warm-up.
//
//	multistep  LR times Decay at the beginning of each milestone's epoch
//	cosine     half a cosine from LR to 0
//	onecycle   up from LR/25 over the warm-up (30% of the steps where none is
//	           given), then half a cosine to 0
func (c Config) rate(step, perEpoch, total int) float64 {
	t := float64(step) / float64(total)
	warm := 1.0
	if c.Warmup > 0 {
		warm = min(1, float64(step+1)/float64(c.Warmup))
	}
	switch c.Schedule {
	case "cosine":
		return c.LR * warm * halfCosine(t)
	case "onecycle":
		up := float64(c.Warmup)
		if up == 0 {
			up = 0.3 * float64(total)
		}
		if s := float64(step); s < up {
			return c.LR * (1 + 24*s/up) / 25
		}
		return c.LR * halfCosine((float64(step)-up)/max(float64(total)-up, 1))
	}
	lr := c.LR * warm
	for _, m := range c.Milestones {
		if step/perEpoch >= m {
			lr *= c.Decay
		}
	}
	return lr
}

func halfCosine(t float64) float64 { return 0.5 * (1 + math.Cos(math.Pi*t)) }

// ramp is the share of the attack's size at a step: it grows by epochs.
func (c Config) ramp(step, perEpoch int) float64 {
	if c.AttackWarmup == 0 {
		return 1
	}
	return min(1, float64(step/perEpoch+1)/float64(c.AttackWarmup))
}
