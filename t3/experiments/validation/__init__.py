"""The model beside independent references: what other simulators and closed forms give."""
