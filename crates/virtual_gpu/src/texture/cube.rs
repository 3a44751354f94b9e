//! The faces of a cube: which one a direction hits, and where.

/// The face that a direction hits, and the coordinates on it, from 0 to 1.
pub(super) fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    // An H100 takes what has no direction for the last corner of face 4: all zeros of either sign, and NaN beside zeros.
    if (x, y, z) == (0.0, 0.0, 0.0) || x.is_nan() || y.is_nan() || z.is_nan() {
        return (4, [1.0, 1.0]);
    }
    let (face, major, s, t) = if az >= ax && az >= ay {
        if z.is_sign_negative() { (5, az, -x, -y) } else { (4, az, x, -y) }
    } else if ay >= ax {
        if y.is_sign_negative() { (3, ay, x, -z) } else { (2, ay, x, z) }
    } else if x.is_sign_negative() {
        (1, ax, z, -y)
    } else {
        (0, ax, -z, -y)
    };
    let place = |c: f32| (c / major + 1.0) / 2.0;
    (face, [place(s), place(t)])
}

#[cfg(test)]
mod tests {
    use super::face;

    #[test]
    fn the_table_of_the_programming_guide() {
        assert_eq!(face([2.0, 1.0, -1.0]), (0, [0.75, 0.25]));
        assert_eq!(face([-2.0, 1.0, -1.0]), (1, [0.25, 0.25]));
        assert_eq!(face([1.0, 2.0, -1.0]), (2, [0.75, 0.25]));
        assert_eq!(face([1.0, -2.0, -1.0]), (3, [0.75, 0.75]));
        assert_eq!(face([1.0, -1.0, 2.0]), (4, [0.75, 0.75]));
        assert_eq!(face([1.0, -1.0, -2.0]), (5, [0.25, 0.75]));
        assert_eq!(face([0.0, -0.0, -0.0]), (4, [1.0, 1.0]));
    }
}
