package bound

// stirlingError is log n! - log(sqrt(2 pi n) (n/e)^n) for an integer n >= 1.
func stirlingError(n float64) float64 {
	if n < 16 {
		return stirlingSmall[int(n)]
	}
	r := 1 / (n * n)
	// 1/(12n) - 1/(360n^3) + ... ; the first term left out, 1/(156 n^13), is
	// 1.4e-18 at n = 16.
	return (1./12 - r*(1./360-r*(1./1260-r*(1./1680-r*(1./1188-r*691./360360))))) / n
}

// stirlingSmall tabulates stirlingError for 1 <= n < 16 (index 0 is unused);
// a test recomputes it from factorials.
var stirlingSmall = [16]float64{
	0,
	0.08106146679532725821967,
	0.04134069595540929409382,
	0.02767792568499833914878,
	0.02079067210376509311152,
	0.01664469118982119216319,
	0.01387612882307074799874,
	0.01189670994589177009505,
	0.01041126526197209649747,
	0.00925546218271273291772,
	0.00833056343336287125646,
	0.00757367548795184079497,
	0.00694284010720952986566,
	0.00640899418800420706844,
	0.00595137011275884773562,
	0.00555473355196280137103,
}
