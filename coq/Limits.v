(* Limits along a filter: one lemma a kind of term, and a tactic that follows the form of the term. *)
From Coq Require Import Reals Lra Lia Arith List.
From Coquelicot Require Import Coquelicot.
From DeriveCoq Require Import Derive.
Open Scope R_scope.

Section Rules.
Context {T : Type} {F : (T -> Prop) -> Prop} {FF : Filter F}.
Notation lim f l := (filterlim f F (locally (l : R))).
Notation lim_p f := (filterlim f F (Rbar_locally p_infty)).
Notation lim_m f := (filterlim f F (Rbar_locally m_infty)).
Lemma l_const (c : R) : lim (fun _ : T => c) c.
Proof. apply filterlim_const. Qed.
Lemma l_plus (f g : T -> R) a b : lim f a -> lim g b -> lim (fun t => f t + g t) (a + b).
Proof. intros A B. apply (filterlim_comp_2 f g Rplus A B). apply (@filterlim_plus R_AbsRing R_NormedModule). Qed.
Lemma l_mult (f g : T -> R) a b : lim f a -> lim g b -> lim (fun t => f t * g t) (a * b).
Proof. intros A B. apply (filterlim_comp_2 f g Rmult A B). apply (@filterlim_mult R_AbsRing). Qed.
Lemma l_cont (h : R -> R) (f : T -> R) a : continuous h a -> lim f a -> lim (fun t => h (f t)) (h a).
Proof. intros H A. apply (filterlim_comp _ _ _ f h F _ _ A H). Qed.
Lemma l_opp (f : T -> R) a : lim f a -> lim (fun t => - f t) (- a).
Proof. apply l_cont. apply (@continuous_opp R_UniformSpace R_AbsRing R_NormedModule (fun t => t)). apply continuous_id. Qed.
Lemma l_minus (f g : T -> R) a b : lim f a -> lim g b -> lim (fun t => f t - g t) (a - b).
Proof. intros A B. apply l_plus; [exact A|apply l_opp; exact B]. Qed.
Lemma continuous_of (h : R -> R) a l : isD h a l -> continuous h a.
Proof. intros D. apply (@ex_derive_continuous R_AbsRing R_NormedModule). exists l. exact D. Qed.
Lemma l_exp (f : T -> R) a : lim f a -> lim (fun t => exp (f t)) (exp a).
Proof. apply l_cont. eapply continuous_of. apply (d_exp (fun t => t)), d_id. Qed.
Lemma l_ln (f : T -> R) a : lim f a -> 0 < a -> lim (fun t => ln (f t)) (ln a).
Proof. intros A P. apply l_cont; [|exact A]. eapply continuous_of. apply (d_ln (fun t => t)); [apply d_id|exact P]. Qed.
Lemma l_inv (f : T -> R) a : lim f a -> a <> 0 -> lim (fun t => / f t) (/ a).
Proof. intros A N. apply l_cont; [|exact A]. eapply continuous_of. apply (d_inv (fun t => t)); [apply d_id|exact N]. Qed.
Lemma l_div (f g : T -> R) a b : lim f a -> lim g b -> b <> 0 -> lim (fun t => f t / g t) (a / b).
Proof. intros A B N. apply l_mult; [exact A|apply l_inv; assumption]. Qed.
Lemma l_pow n (f : T -> R) a : lim f a -> lim (fun t => f t ^ n) (a ^ n).
Proof. intros A. induction n; simpl; [apply l_const|apply (l_mult f (fun t => f t ^ n)); assumption]. Qed.
Lemma l_Sum n (f : T -> nat -> R) l : (forall k, (k < n)%nat -> lim (fun t => f t k) (l k)) -> lim (fun t => Sum n (f t)) (Sum n l).
Proof. induction n; intros H; simpl; [apply l_const|]. apply (l_plus (fun t => Sum n (f t)) (fun t => f t n)); auto. Qed.
Lemma l_eq (f : T -> R) a b : lim f a -> a = b -> lim f b.
Proof. intros H <-; exact H. Qed.
(* to infinity, and what is finite all the same *)
Lemma l_exp_m (f : T -> R) : lim_m f -> lim (fun t => exp (f t)) 0.
Proof. intros A. apply (filterlim_comp _ _ _ f exp F _ _ A). apply is_lim_exp_m. Qed.
Lemma l_inv_p (f : T -> R) : lim_p f -> lim (fun t => / f t) 0.
Proof.
  intros A. apply (filterlim_comp _ _ _ f Rinv F _ _ A).
  change (is_lim Rinv p_infty (Rbar_inv p_infty)). apply (is_lim_inv (fun t => t) p_infty p_infty); [apply is_lim_id|discriminate].
Qed.
Lemma l_inv_m (f : T -> R) : lim_m f -> lim (fun t => / f t) 0.
Proof.
  intros A. apply (filterlim_comp _ _ _ f Rinv F _ _ A).
  change (is_lim Rinv m_infty (Rbar_inv m_infty)). apply (is_lim_inv (fun t => t) m_infty m_infty); [apply is_lim_id|discriminate].
Qed.
Lemma l_over_p (g f : T -> R) a : lim g a -> lim_p f -> lim (fun t => g t / f t) 0.
Proof. intros A B. apply (l_eq _ (a * 0)); [|ring]. apply l_mult; [exact A|apply l_inv_p; exact B]. Qed.
Lemma l_over_m (g f : T -> R) a : lim g a -> lim_m f -> lim (fun t => g t / f t) 0.
Proof. intros A B. apply (l_eq _ (a * 0)); [|ring]. apply l_mult; [exact A|apply l_inv_m; exact B]. Qed.
Lemma p_exp (f : T -> R) : lim_p f -> lim_p (fun t => exp (f t)).
Proof. intros A. apply (filterlim_comp _ _ _ f exp F _ _ A). apply is_lim_exp_p. Qed.
Lemma p_opp (f : T -> R) : lim_m f -> lim_p (fun t => - f t).
Proof. intros A. apply (filterlim_comp _ _ _ f Ropp F _ _ A). apply (is_lim_opp (fun t => t) m_infty m_infty), is_lim_id. Qed.
Lemma m_opp (f : T -> R) : lim_p f -> lim_m (fun t => - f t).
Proof. intros A. apply (filterlim_comp _ _ _ f Ropp F _ _ A). apply (is_lim_opp (fun t => t) p_infty p_infty), is_lim_id. Qed.
Lemma p_plus_c (c : R) (f : T -> R) : lim_p f -> lim_p (fun t => c + f t).
Proof.
  intros A P [M H]. apply (A (fun y => P (c + y))). exists (M - c). intros y Y. apply H. lra.
Qed.
Lemma p_scal (c : R) (f : T -> R) : 0 < c -> lim_p f -> lim_p (fun t => c * f t).
Proof.
  intros C A P [M H]. apply (A (fun y => P (c * y))). exists (M / c). intros y Y. apply H.
  apply (Rmult_lt_compat_l c) in Y; [|exact C]. replace (c * (M / c)) with M in Y by (field; lra). exact Y.
Qed.
Lemma m_scal (c : R) (f : T -> R) : 0 < c -> lim_m f -> lim_m (fun t => c * f t).
Proof.
  intros C A P [M H]. apply (A (fun y => P (c * y))). exists (M / c). intros y Y. apply H.
  apply (Rmult_lt_compat_l c) in Y; [|exact C]. replace (c * (M / c)) with M in Y by (field; lra). exact Y.
Qed.
Lemma m_scal_neg (c : R) (f : T -> R) : c < 0 -> lim_p f -> lim_m (fun t => c * f t).
Proof.
  intros C A P [M H]. apply (A (fun y => P (c * y))). exists (M / c). intros y Y. apply H.
  apply (Rmult_lt_compat_l (- c)) in Y; [|lra]. replace (- c * (M / c)) with (- M) in Y by (field; lra). lra.
Qed.
End Rules.
Lemma l_right p : filterlim (fun t : R => t) (at_right p) (locally p).
Proof. intros P H. unfold at_right, within. unfold filtermap. apply filter_imp with (2 := H). auto. Qed.
Lemma l_left p : filterlim (fun t : R => t) (at_left p) (locally p).
Proof. intros P H. unfold at_left, within. unfold filtermap. apply filter_imp with (2 := H). auto. Qed.
Lemma l_both p : filterlim (fun t : R => t) (locally' p) (locally p).
Proof. intros P H. unfold locally', within. unfold filtermap. apply filter_imp with (2 := H). auto. Qed.
Lemma p_inv_right : filterlim (fun t : R => / t) (at_right 0) (Rbar_locally p_infty).
Proof. apply filterlim_Rinv_0_right. Qed.
Lemma m_inv_left : filterlim (fun t : R => / t) (at_left 0) (Rbar_locally m_infty).
Proof. apply filterlim_Rinv_0_left. Qed.

(* The logarithm of a sum of exponentials, scaled down, is the largest of the numbers in the limit: it lies between
   the largest and the largest plus T ln n. *)
Lemma l_log_sum_exp n f : (0 < n)%nat ->
  filterlim (fun t => t * ln (Sum n (fun k => exp (f k / t)))) (at_right 0) (locally (Max n f)).
Proof.
  intros Hn P [e He]. assert (L : 0 <= ln (INR n)) by (apply ln_nneg; change 1 with (INR 1); apply le_INR; lia).
  assert (D : 0 < e / (1 + ln (INR n))) by (apply Rdiv_lt_0_compat; [apply cond_pos|lra]).
  exists (mkposreal _ D). intros t B T. apply He.
  assert (S : t < e / (1 + ln (INR n))).
  { unfold ball in B; simpl in B. unfold AbsRing_ball, abs, minus, plus, opp in B; simpl in B.
    rewrite Ropp_0, Rplus_0_r, Rabs_pos_eq in B; lra. }
  assert (S2 : t * ln (INR n) < e).
  { apply Rle_lt_trans with (t * (1 + ln (INR n))); [nra|].
    apply (Rmult_lt_compat_r (1 + ln (INR n))) in S; [|lra].
    replace (e / (1 + ln (INR n)) * (1 + ln (INR n))) with (e : R) in S by (field; lra). exact S. }
  destruct (Max_attained n f Hn) as [j [Hj M]].
  assert (A : exp (Max n f / t) <= Sum n (fun k => exp (f k / t))).
  { rewrite M. apply (Sum_term n (fun k => exp (f k / t))); [exact Hj|intros; apply Rlt_le, exp_pos]. }
  assert (C : Sum n (fun k => exp (f k / t)) <= INR n * exp (Max n f / t)).
  { rewrite <- (Sum_one n), Rmult_comm, <- Sum_scal. apply Sum_le. intros k Hk. rewrite Rmult_1_r. apply exp_le.
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; exact T|apply Max_ge; exact Hk]. }
  assert (N : 0 < INR n) by (apply lt_0_INR; exact Hn).
  pose proof (exp_pos (Max n f / t)) as E.
  assert (A2 : Max n f / t <= ln (Sum n (fun k => exp (f k / t)))).
  { rewrite <- (ln_exp (Max n f / t)). destruct A as [A|A]; [left; apply ln_increasing; assumption|right; rewrite A; reflexivity]. }
  assert (C2 : ln (Sum n (fun k => exp (f k / t))) <= ln (INR n) + Max n f / t).
  { replace (ln (INR n) + Max n f / t) with (ln (INR n * exp (Max n f / t))) by (rewrite ln_mult, ln_exp by assumption; reflexivity).
    destruct C as [C|C]; [left; apply ln_increasing; [lra|assumption]|right; rewrite C; reflexivity]. }
  apply (Rmult_le_compat_l t) in A2; [|lra]. apply (Rmult_le_compat_l t) in C2; [|lra].
  replace (t * (Max n f / t)) with (Max n f) in A2 by (field; lra).
  replace (t * (ln (INR n) + Max n f / t)) with (t * ln (INR n) + Max n f) in C2 by (field; lra).
  unfold ball; simpl. unfold AbsRing_ball, abs, minus, plus, opp; simpl. apply Rabs_lt_between. split; [|lra].
  pose proof (cond_pos e). lra.
Qed.

(* The shares of exponentials as their scale grows: all goes to the largest numbers, in equal parts. *)
Section Shares.
Context {T : Type} {F : (T -> Prop) -> Prop} {FF : Filter F} (n : nat) (z : nat -> R) (i : nat) (Hi : (i < n)%nat).
Notation lim f l := (filterlim f F (locally (l : R))).
Notation top k := (cases (Req_EM_T (z k) (Max n z)) 1 0).
Lemma l_ties (s : T -> R) : filterlim s F (Rbar_locally p_infty) ->
  lim (fun t => exp (s t * z i) / Sum n (fun k => exp (s t * z k))) (top i / Sum n (fun k => top k)).
Proof.
  intros S. apply (filterlim_ext (fun t => exp (s t * (z i - Max n z)) / Sum n (fun k => exp (s t * (z k - Max n z))))).
  - intros t. set (m := exp (s t * Max n z)). assert (0 < m) by apply exp_pos.
    assert (E : forall k, exp (s t * (z k - Max n z)) = / m * exp (s t * z k)).
    { intros k. unfold m. rewrite <- exp_Ropp, <- exp_plus. f_equal. ring. }
    rewrite E. rewrite (Sum_ext n _ _ (fun k _ => E k)), Sum_scal.
    assert (0 < Sum n (fun k => exp (s t * z k))) by (apply Sum_pos; [lia|intros; apply exp_pos]). field. lra.
  - assert (L : forall k, (k < n)%nat -> lim (fun t => exp (s t * (z k - Max n z))) (top k)).
    { intros k K. unfold cases. destruct (Req_EM_T (z k) (Max n z)) as [E|N].
      - rewrite E. apply (filterlim_ext (fun _ => 1)); [|apply l_const]. intros t.
        replace (s t * (Max n z - Max n z)) with 0 by ring. rewrite exp_0. reflexivity.
      - pose proof (Max_ge n z k K). apply l_exp_m. apply (filterlim_ext (fun t => (z k - Max n z) * s t)); [intros; ring|].
        apply m_scal_neg; [lra|exact S]. }
    apply l_div; [apply L; exact Hi|apply (l_Sum n (fun t k => exp (s t * (z k - Max n z)))); exact L|].
    apply Rgt_not_eq, ties_pos. lia.
Qed.
Lemma l_unique (s : T -> R) j : filterlim s F (Rbar_locally p_infty) -> (j < n)%nat ->
  (forall k, (k < n)%nat -> k <> j -> z k < z j) ->
  lim (fun t => exp (s t * z i) / Sum n (fun k => exp (s t * z k))) (delta i j).
Proof.
  intros S J U. assert (M : Max n z = z j).
  { destruct (Max_attained n z ltac:(lia)) as [k [K E]]. destruct (Nat.eq_dec k j) as [->|N]; [exact E|].
    pose proof (U k K N). pose proof (Max_ge n z j J). lra. }
  assert (D : forall k, (k < n)%nat -> top k = delta k j).
  { intros k K. rewrite M. unfold cases, delta, ind. destruct (Req_EM_T _ _) as [E|N], (Nat.eq_dec k j) as [->|Q]; try reflexivity.
    - pose proof (U k K Q). lra.
    - congruence. }
  eapply l_eq; [apply (l_ties s S)|]. rewrite (D i Hi), (Sum_ext n _ _ D).
  rewrite (Sum_ext n _ (fun k => delta k j * 1)) by (intros; ring). rewrite (Sum_delta n j (fun _ => 1) J). field.
Qed.
Lemma l_ties_over (s : T -> R) : filterlim (fun t => / s t) F (Rbar_locally p_infty) ->
  lim (fun t => exp (z i / s t) / Sum n (fun k => exp (z k / s t))) (top i / Sum n (fun k => top k)).
Proof.
  intros S. eapply filterlim_ext; [|exact (l_ties (fun t => / s t) S)]. intros t. cbv beta. unfold Rdiv.
  rewrite (Rmult_comm (/ s t)). do 2 f_equal. apply Sum_ext. intros. f_equal. ring.
Qed.
Lemma l_unique_over (s : T -> R) j : filterlim (fun t => / s t) F (Rbar_locally p_infty) -> (j < n)%nat ->
  (forall k, (k < n)%nat -> k <> j -> z k < z j) ->
  lim (fun t => exp (z i / s t) / Sum n (fun k => exp (z k / s t))) (delta i j).
Proof.
  intros S J U. eapply filterlim_ext; [|exact (l_unique (fun t => / s t) j S J U)]. intros t. cbv beta. unfold Rdiv.
  rewrite (Rmult_comm (/ s t)). do 2 f_equal. apply Sum_ext. intros. f_equal. ring.
Qed.
(* one exponential against a constant *)
Lemma l_leader (f : T -> R) c : filterlim f F (Rbar_locally p_infty) -> lim (fun t => exp (f t) / (exp (f t) + exp c)) 1.
Proof.
  intros S. apply (filterlim_ext (fun t => / (1 + exp c * exp (- f t)))).
  - intros t. rewrite exp_Ropp. pose proof (exp_pos (f t)). pose proof (exp_pos c). field. lra.
  - apply (l_eq _ (/ (1 + exp c * 0))); [|rewrite Rmult_0_r, Rplus_0_r; apply Rinv_1].
    apply (l_inv (fun t => 1 + exp c * exp (- f t))); [|lra].
    apply (l_plus (fun _ => 1) (fun t => exp c * exp (- f t))); [apply l_const|].
    apply (l_mult (fun _ => exp c) (fun t => exp (- f t))); [apply l_const|apply l_exp_m, m_opp, S].
Qed.
End Shares.
Lemma p_plus_d {T} {F : (T -> Prop) -> Prop} {FF : Filter F} (f : T -> R) (c : R) :
  filterlim f F (Rbar_locally p_infty) -> filterlim (fun t => f t + c) F (Rbar_locally p_infty).
Proof. intros H. apply (filterlim_ext (fun t => c + f t)); [intros; ring|apply p_plus_c, H]. Qed.
(* what is constant on one side of a point, near it *)
Lemma l_right_constant f p (c : R) : (forall t, p < t < p + / 2 -> f t = c) -> filterlim f (at_right p) (locally c).
Proof.
  intros H. apply (filterlim_ext_loc (fun _ => c)); [|apply filterlim_const].
  assert (P : 0 < / 2) by lra. exists (mkposreal _ P). intros t B L. symmetry. apply H.
  unfold ball in B; simpl in B. unfold AbsRing_ball, abs, minus, plus, opp in B; simpl in B. apply Rabs_lt_between in B. lra.
Qed.
Lemma l_left_constant f p (c : R) : (forall t, p - / 2 < t < p -> f t = c) -> filterlim f (at_left p) (locally c).
Proof.
  intros H. apply (filterlim_ext_loc (fun _ => c)); [|apply filterlim_const].
  assert (P : 0 < / 2) by lra. exists (mkposreal _ P). intros t B L. symmetry. apply H.
  unfold ball in B; simpl in B. unfold AbsRing_ball, abs, minus, plus, opp in B; simpl in B. apply Rabs_lt_between in B. lra.
Qed.
Lemma Sum_constant n c : Sum n (fun _ => c) = INR n * c.
Proof. rewrite <- (Sum_one n), Rmult_comm, <- Sum_scal. apply Sum_ext. intros; ring. Qed.

Ltac unique_largest := match goal with U : forall _, _ |- _ => exact U end.
Ltac lim :=
  cbv beta;
  lazymatch goal with
  | |- filterlim ?f _ (locally _) => tryif closed f then (let c := value f in apply (l_const c)) else
    lazymatch f with
    | fun t => t => first [apply l_right | apply l_left | apply l_both | apply filterlim_id]
    | fun t => t * ln (Sum ?n (fun k => exp (@?g k / t))) => apply (l_log_sum_exp n g); ix
    | fun t => @?f t + @?g t => eapply (l_plus f g); lim
    | fun t => @?f t - @?g t => eapply (l_minus f g); lim
    | fun t => - @?f t => eapply (l_opp f); lim
    | fun t => exp (@?s t * ?x) / Sum ?n (fun k => exp (@?s t * @?z k)) =>
      match x with ?zi ?i => first
        [ eapply (l_unique n z i); [ix | inf | | unique_largest]; ix | eapply (l_ties n z i); [ix | inf] | quotient ] end
    | fun t => exp (?x / @?s t) / Sum ?n (fun k => exp (@?z k / @?s t)) =>
      match x with ?zi ?i => first
        [ eapply (l_unique_over n z i); [ix | inf | | unique_largest]; ix | eapply (l_ties_over n z i); [ix | inf] | quotient ] end
    | fun t => exp (@?f t) / (exp (@?f t) + exp ?c) => first [eapply (l_leader f c); inf | quotient]
    | fun t => @?f t / @?g t => quotient
    | fun t => @?f t * @?g t => eapply (l_mult f g); lim
    | fun t => sigmoid (@?f t) => unfold sigmoid; lim
    | fun t => exp (@?f t) => first [solve [apply (l_exp_m f); inf] | eapply (l_exp f); lim]
    | fun t => ln (@?f t) => eapply (l_ln f); [lim | side_of]
    | fun t => / (@?f t) => first [solve [apply (l_inv_p f); inf] | solve [apply (l_inv_m f); inf] | eapply (l_inv f); [lim | side_of]]
    | fun t => (@?f t) ^ ?n => eapply (l_pow n f); lim
    | fun t => Sum ?n (@?f t) => eapply (l_Sum n f); let k := fresh "k" in let H := fresh "H" in intros k H; lim
    end
  end
with inf :=
  cbv beta;
  lazymatch goal with
  | |- filterlim ?f _ (Rbar_locally ?s) =>
    lazymatch f with
    | fun t => t => exact (fun P H => H)
    | fun t => / t => first [apply p_inv_right | apply m_inv_left]
    | fun t => - @?f t => first [solve [apply (p_opp f); inf] | solve [apply (m_opp f); inf]]
    | fun t => exp (@?f t) => apply (p_exp f); inf
    | fun t => @?g t + @?f t =>
      tryif closed g then (let c := value g in apply (p_plus_c c f); inf)
      else tryif closed f then (let c := value f in apply (p_plus_d g c); inf) else fail
    | fun t => ?c * @?f t => first [solve [apply (p_scal c f); [pos | inf]] | solve [apply (m_scal c f); [pos | inf]] | solve [apply (m_scal_neg c f); [sgn | inf]]]
    | fun t => ?c / @?f t => unfold Rdiv; inf
    | fun t => @?f t / ?c => unfold Rdiv; inf
    end
  end
with quotient :=
  lazymatch goal with
  | |- filterlim (fun t => @?f t / @?g t) _ _ => first [solve [eapply (l_over_p f g); [lim | inf]] | solve [eapply (l_over_m f g); [lim | inf]] | eapply (l_div f g); [lim | lim | side_of]]
  end
with side_of := cbv beta; first [side | let H := fresh in intro H; lra | lra | rewrite ?exp_0; side].
(* the value that was found is the one that is claimed *)
Ltac no_scale := repeat match goal with |- context [Sum ?n ?f] =>
  replace (Sum n f) with (INR n) by (rewrite <- Sum_one; apply Sum_ext; intros; rewrite ?Rmult_0_l, ?Rmult_0_r, ?exp_0; reflexivity) end;
  rewrite ?Rmult_0_l, ?Rmult_0_r, ?exp_0.
Ltac same_value := cbv beta; rewrite ?exp_0, ?Sum_one; first
  [ reflexivity | leaf
  | progress no_scale; leaf
  | rewrite ?Sum_constant; unfold Rdiv; rewrite ?Rmult_1_l; rewrite ?ln_Rinv by pos; leaf ].
Ltac one_side := intros; unfold cases, Rmin, Rmax;
  repeat match goal with
  | |- context [if ?d then _ else _] => destruct d
  | H : context [if ?d then _ else _] |- _ => destruct d end; first
  [ lra | exfalso; lra | field; let H := fresh in intro H; lra ].
Ltac limit := cbv zeta; autounfold with user in *; first
  [ eapply l_eq; [lim | same_value]
  | apply l_right_constant; one_side
  | apply l_left_constant; one_side ].
