package price

// classify says what each amount is.
func (r *reader) classify() {
	r.shapes()
	r.bind()
	r.ranges()
	for i := range r.anchors {
		a := &r.anchors[i]
		if a.percent || a.highEnd || a.kind == KindPoints {
			continue
		}
		if a.unit != nil && !a.unit.period && a.said&mInstall == 0 {
			if a.cents == 0 {
				r.readValue(a, a.unit.metered())
			}
		}
		a.kind = r.kindOf(i, a)
		if a.kind == KindTax && i > 0 && r.anchors[i-1].tax == "" {
			r.anchors[i-1].tax = TaxExcluded
			if r.tok(a.first - 1).is(mIn) {
				r.anchors[i-1].tax = TaxIncluded
			}
		}
		if a.negative && a.kind != KindSaving {
			r.negative = true
		}
	}
}

// kindOf puts what words and shapes say of an amount in order.
func (r *reader) kindOf(i int, a *anchor) Kind {
	prev, next := r.tok(a.first-1), r.tok(a.last+1)
	said := a.said
	switch {
	case said&mPoints != 0:
		return KindPoints
	case a.unit != nil && a.unit.period:
		return KindInstallment
	case said&mInstall != 0:
		return KindInstallment
	case said&mShip != 0:
		return KindShipping
	case a.unit != nil || said&mUnitPrice != 0:
		return KindUnit
	case next.is(mTaxWord) && (prev.is(mIn|mEx) || prev.rune('+')) && len(r.anchors) > 1,
		prev.is(mTaxWord) && a.tax == "" && len(r.anchors) > 1,
		prev.rune(':') && r.tok(a.first-2).is(mTaxWord) && a.tax == "" && len(r.anchors) > 1:
		return KindTax
	case said&mExtra != 0:
		return KindExtra
	case said&mSave != 0 || a.negative && i > 0:
		return KindSaving
	case said&mMember != 0:
		return KindMember
	case a.kind == KindMultibuy:
		return KindMultibuy
	case said&mList != 0:
		return KindList
	case said&mUpTo != 0 || said&mOver != 0 && said&mOrder != 0:
		return KindLimit
	case a.high != nil:
		return KindRange
	case said&mFrom != 0:
		return KindFrom
	case next.rune('~') && !next.gap, next.rune('+') && !next.gap && r.tok(a.last+2).kind != tokNumber && r.tok(a.last+2).kind != tokSign && !r.tok(a.last+2).is(mTaxWord):
		return KindFrom
	}
	return KindPrice
}
